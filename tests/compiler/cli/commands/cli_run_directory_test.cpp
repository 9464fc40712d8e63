// One run directory has one process: others are refused, and what kills a run costs no bits.
#include <fmt/format.h>

#include <random>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

class RunDirectory : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    write_text("text.txt", 400);
  }
  static std::string train(const std::string& more) {
    return binary() + " train '" + kGolden.string() +
           "' --from-scratch --data text.txt --data-format bytes --batch 3 --length 21 --lr 0.003 --seed 7 "
           "--threads 1 " +
           more;
  }
  /// `$STARTED` waits until the run has reported a step.
  Outcome with_run(const std::string& commands) const {
    return shell("STARTED='for i in $(seq 3000); do [ -s run/metrics.jsonl ] && break; sleep 0.01; done'; " +
                 commands);
  }
  std::string ended_by(const std::string& signal, const std::string& before = "") const {
    return with_run(before + train("--run-dir run --steps 1000000 --schedule constant") +
                    " >log 2>&1 & pid=$!; eval $STARTED; kill -" + signal + " $pid; wait $pid; echo ended $?")
        .out;
  }
};

TEST_F(RunDirectory, TakesOneProcess) {
  const std::string command = train("--run-dir run --steps 1000000 --schedule constant");
  const Outcome outcome = with_run(command + " >first 2>&1 & pid=$!; eval $STARTED; " + command +
                                   " --resume >second 2>&1; echo refused $?; kill -INT $pid; wait $pid; " +
                                   "echo ended $?; echo $pid; ls run/checkpoints | wc -l");
  EXPECT_TRUE(has(outcome.out, "refused 1\nended 130\n")) << outcome.out;
  const std::string pid = outcome.out.substr(outcome.out.find("130") + 4);
  EXPECT_TRUE(has(slurp(path("second")), "process " + pid.substr(0, pid.find('\n')) + " on "))
      << slurp(path("second"));
  EXPECT_TRUE(outcome.out.ends_with("\n1\n")) << outcome.out;
}

TEST_F(RunDirectory, HasACheckpointAndAStatusAfterEachSignal) {
  for (const auto& [signal, status] : {std::pair{"INT", 130}, {"TERM", 143}, {"HUP", 129}}) {
    fs::remove_all(path("run"));
    EXPECT_EQ(ended_by(signal), fmt::format("ended {}\n", status)) << slurp(path("log"));
    EXPECT_TRUE(has(slurp(path("log")), "stopped at step ")) << slurp(path("log"));
    EXPECT_FALSE(fs::is_empty(path("run/checkpoints")));
  }
}

/// Under nohup the end of the terminal is no end of the run.
TEST_F(RunDirectory, ASignalThatIsIgnoredStaysSo) {
  const Outcome outcome =
      with_run("trap '' HUP; " + train("--run-dir run --steps 60 --schedule constant") +
               " >log 2>&1 & pid=$!; eval $STARTED; kill -HUP $pid; wait $pid; echo ended $?");
  EXPECT_EQ(outcome.out, "ended 0\n") << slurp(path("log"));
}

/// Two processes want the directory all the time, and are killed at any moment: each time one of them goes
/// on. Whether the other has been refused by then depends on the speed of the machine.
TEST_F(RunDirectory, KillsOfTwoThatCompeteCostNoBits) {
  constexpr int kKills = 6;  // sixty by hand, with SMELT_KILLS=60
  const char* asked = std::getenv("SMELT_KILLS");
  const int kills = asked ? std::atoi(asked) : kKills;
  const std::string options = fmt::format("--steps {} --checkpoint-every 3 --resume ", 80 * kills);
  expect_good(shell(train(options + "--run-dir whole")));
  std::mt19937 random(1);
  std::string commands = "first=0; second=0; ";
  for (int i = 0; i < kills; ++i)
    commands += fmt::format(
        "{0} >>a 2>&1 & p=$!; {0} >>b 2>&1 & q=$!; sleep {1:.3f}; kill -9 $p $q; wait $p; wait $q; ",
        train(options + "--run-dir run"), 0.3 + 0.001 * static_cast<double>(random() % 1500));
  expect_good(shell(commands + "true"));
  expect_good(shell(train(options + "--run-dir run")));
  EXPECT_EQ(slurp(path("run/model/model.safetensors")), slurp(path("whole/model/model.safetensors")));
  const std::string both = slurp(path("a")) + slurp(path("b"));
  EXPECT_FALSE(has(both, "damaged")) << both;
}

}  // namespace
}  // namespace smelt::test
