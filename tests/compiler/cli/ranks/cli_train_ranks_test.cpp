// Training by several processes: smelt launch -- smelt train.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;

class RankProcesses : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    std::string text;
    for (int i = 0; i < 4000; ++i) text += "the cat sat on the mat "[(i * i + i / 7) % 23];
    spill(path("text.txt"), text);
    spill(path("spec.json"),
          R"({"family": "gpt2", "vocab_size": 256, "hidden": 8, "max_positions": 16,
              "decoder": {"layers": 1, "heads": 2}})");
  }

  static std::string train(const std::string& run, const std::string& more) {
    return "smelt train spec.json --from-scratch --data text.txt --data-format bytes --batch 2 --length 9 "
           "--lr "
           "0.01 --seed 7 --threads 1 --eval-batches 3 --eval-every 4 --run-dir " +
           run + " " + more;
  }
  static std::string without_length(std::string command) {
    constexpr std::string_view kLength = "--length 9 ";
    return command.erase(command.find(kLength), kLength.size());
  }
  Outcome launch(int ranks, const std::string& command) const {
    return smelt(fmt::format("launch -n {} -- {}", ranks, command));
  }
  /// Of metrics.jsonl, by step.
  std::vector<double> losses(const std::string& run) const {
    std::vector<double> losses;
    std::istringstream lines(slurp(path(run + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_object() && json["event"] == "step") losses.push_back(json["loss"]);
    }
    return losses;
  }
  void expect_close(const std::vector<double>& actual, const std::vector<double>& expected) const {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-6 * expected[i]) << i;
  }
  static int64_t count(const std::string& text, const std::string& part) {
    int64_t found = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

TEST_F(RankProcesses, TrainAsOneWithAsManyMicroSteps) {
  expect_good(smelt(train("one", "--steps 8 --accumulate 2").substr(6)));
  const Outcome two = launch(2, train("two", "--steps 8"));
  expect_good(two);
  expect_close(losses("two"), losses("one"));
  EXPECT_EQ(count(two.out + two.err, "done at step 8"), 1) << two.out << two.err;
  EXPECT_EQ(count(two.err, "planned memory"), 1) << two.err;
  EXPECT_TRUE(fs::exists(path("two/model/model.safetensors")));
}

/// Ranks along `model` have parts of the parameters and the same batches.
TEST_F(RankProcesses, TrainAsOneWithPartsOfTheParameters) {
  expect_good(smelt(train("one", "--steps 5 --accumulate 2").substr(6)));
  expect_good(launch(4, train("four", "--steps 5 --mesh data=2,model=2")));
  EXPECT_TRUE(fs::exists(path("four/model/model.safetensors")));
  expect_close(losses("four"), losses("one"));
  expect_good(launch(2, train("four", "--steps 7 --mesh model=2 --accumulate 2 --resume")));
  expect_good(smelt(train("one", "--steps 7 --accumulate 2 --resume").substr(6)));
  expect_close(losses("four"), losses("one"));
  const Outcome odd = launch(2, train("odd", "--steps 5 --mesh model=2 --sequence-parallel"));
  EXPECT_EQ(odd.status, 1);
  EXPECT_TRUE(has(odd.err, "multiple of 2")) << odd.err;
  const Outcome uneven = launch(3, train("three", "--steps 5 --mesh model=3"));
  EXPECT_EQ(uneven.status, 1);
  EXPECT_TRUE(has(uneven.err, "decoder.heads")) << uneven.err;
  EXPECT_TRUE(has(uneven.err, "decoder.ffn")) << uneven.err;
}

/// Without --length sequences are as long as the plan takes, and not as long as a rank's part of them.
TEST_F(RankProcesses, TrainOnWholeSequencesByParts) {
  const std::string bounded = "--steps 4 --max T=16 ";
  expect_good(smelt(without_length(train("one", bounded)).substr(6)));
  expect_good(launch(2, without_length(train("two", bounded + "--mesh model=2 --sequence-parallel"))));
  expect_close(losses("two"), losses("one"));
}

/// Each rank has some of the layers; the run goes on with one that has all of them.
TEST_F(RankProcesses, TrainAsOneInStages) {
  const std::string constant = "--schedule constant --accumulate 4 ";
  expect_good(smelt(train("one", constant + "--steps 6").substr(6)));
  expect_good(launch(2, train("run", constant + "--steps 4 --mesh stage=2")));
  EXPECT_TRUE(fs::exists(path("run/checkpoints/step-0000000004.rank-1-of-2.safetensors")));
  expect_good(smelt(train("run", constant + "--steps 6 --resume").substr(6)));
  expect_close(losses("run"), losses("one"));
  const Outcome schedule = smelt("dump spec.json --mesh stage=2 --emit=schedule --micro-batches 4");
  expect_good(schedule);
  EXPECT_TRUE(has(schedule.out, "stage 0   F0  F1  .   B0")) << schedule.out;
  EXPECT_TRUE(has(schedule.out, "idle 20.0%")) << schedule.out;
}

/// Parts of all states; the run goes on with one rank, which has all of them.
TEST_F(RankProcesses, KeepPartsOfStates) {
  const std::string constant = "--schedule constant --checkpoint-every 4 --accumulate ";
  expect_good(smelt(train("one", constant + "2 --steps 6").substr(6)));
  expect_good(launch(2, train("run", constant + "1 --steps 4 --zero 3 --zero-bucket 600")));
  EXPECT_TRUE(fs::exists(path("run/checkpoints/step-0000000004.rank-1-of-2.safetensors")));
  EXPECT_TRUE(fs::exists(path("run/model/model.safetensors")));
  expect_good(smelt(train("run", constant + "2 --steps 6 --resume").substr(6)));
  expect_close(losses("run"), losses("one"));
  const Outcome states = smelt("dump spec.json --mesh data=2 --zero 3 --summary");
  expect_good(states);
  EXPECT_TRUE(has(states.out, "bytes a rank")) << states.out;
}

/// Kills rank 1 once there is a checkpoint; all end with one message, and the run goes on with one rank.
TEST_F(RankProcesses, EndTogetherWhenOneIsKilledAndResume) {
  const Outcome killed = shell(
      "export OMP_NUM_THREADS=1; " + binary() + " launch -n 2 -- " +
      train("run", "--steps 100000 --eval-every 0 --checkpoint-every 3 --schedule constant --quiet") +
      " & pid=$!; for i in $(seq 3000); do ls run/checkpoints/step-*.safetensors >/dev/null 2>&1 && break; "
      "kill -0 $pid 2>/dev/null || break; sleep 0.01; done; "
      "kill -9 $(pgrep -P $pid | tail -n 1); wait $pid; echo ended $?");
  EXPECT_TRUE(has(killed.out, "ended 137")) << killed.out << killed.err;
  EXPECT_EQ(count(killed.err, "error: rank 1 (host "), 1) << killed.err;
  const std::vector<double> before = losses("run");
  ASSERT_GE(before.size(), 3u);
  const std::string steps = std::to_string(before.size() + 2);
  const Outcome resumed = smelt(
      train("run", "--eval-every 0 --schedule constant --accumulate 2 --resume --steps " + steps).substr(6));
  expect_good(resumed);
  EXPECT_TRUE(has(resumed.err, "resumed at step ")) << resumed.err;
  EXPECT_EQ(losses("run").size(), before.size() + 2);
}

TEST_F(RankProcesses, RefuseWhatDoesNotFit) {
  const Outcome alone = smelt(train("run", "--mesh data=2").substr(6));
  EXPECT_EQ(alone.status, 1);
  EXPECT_TRUE(has(alone.err, "smelt launch -n 2 -- smelt train")) << alone.err;
  const Outcome three = launch(2, train("run", "--mesh data=3"));
  EXPECT_EQ(three.status, 1);
  EXPECT_TRUE(has(three.err, "--mesh data=3 is of 3 ranks, and 2 were started")) << three.err;
  spill(path("seeds.sh"), binary() + train("run", "--steps 2 --seed $RANK").substr(5) + "\n");
  const Outcome seeds = launch(2, "sh seeds.sh");
  EXPECT_NE(seeds.status, 0);
  EXPECT_TRUE(has(seeds.err, "seed")) << seeds.err;
  EXPECT_EQ(count(seeds.err, "error: "), 2) << "rank 0's and the launcher's\n" << seeds.err;
  EXPECT_FALSE(fs::exists(path("run/metrics.jsonl")));
}

TEST_F(RankProcesses, AnAxisThatDividesNothingIsRefused) {
  spill(path("graph.ir"), "graph @f(%x: f32[3]) {\n  %y = exp %x : f32[3]\n  return y = %y\n}\n");
  expect_error(smelt("dump graph.ir --mesh soup=2"), "nothing is divided along the axis soup");
  spill(path("own.ir"),
        "mesh {pot = 2}\ngraph @f(%x: f32[4] on [pot]) {\n  %y = exp %x : f32[4]\n  return y = %y\n}\n");
  expect_good(smelt("dump own.ir --mesh pot=2"));
  expect_error(smelt("dump own.ir --mesh pot=2,soup=2"), "nothing is divided along the axis soup");
  expect_error(smelt("dump spec.json --mesh data=2,soup=2"),
               "has the axis soup, along which nothing is divided");
}

/// Separate copies in one run directory would pass for one run.
TEST_F(RankProcesses, RefuseAPlanOfAnotherMesh) {
  expect_good(smelt("compile spec.json --max B=2,T=9 -o alone.plan"));
  const std::string more = " --data text.txt --data-format bytes --batch 2 --steps 1 --run-dir run";
  const Outcome alone = launch(2, "smelt train alone.plan --from-scratch" + more);
  EXPECT_EQ(alone.status, 1);
  EXPECT_TRUE(has(alone.err, "the plan is for one rank, and there are 2")) << alone.err;
  EXPECT_TRUE(has(alone.err, "compile it with --mesh data=2")) << alone.err;
  const Outcome unused = launch(2, train("run", "--steps 1 --mesh expert=2"));
  EXPECT_EQ(unused.status, 1);
  EXPECT_TRUE(has(unused.err, "has the axis expert, along which nothing is divided")) << unused.err;
  EXPECT_TRUE(has(unused.err, "expected data, model or stage")) << unused.err;
  EXPECT_FALSE(fs::exists(path("run/metrics.jsonl")));
  const Outcome profiled = launch(2, "smelt bench spec.json --max B=2,T=8 --mesh stage=2 --profile");
  EXPECT_EQ(profiled.status, 1);
  EXPECT_TRUE(has(profiled.err, "stages of a pipeline are for training")) << profiled.err;
}

TEST_F(RankProcesses, MeasureAPipeline) {
  const Outcome two = launch(2,
                             "smelt bench spec.json --threads 1 --max B=1,T=6 --warm-up 1 --steps 2 "
                             "--mesh stage=2 --accumulate 3 --json");
  expect_good(two);
  EXPECT_TRUE(has(two.out, "\"ranks\":2")) << two.out;
  EXPECT_TRUE(has(two.out, "\"bubble\":{\"formula\":0.25,\"measured\":")) << two.out;
}

/// Each stage has a plan of its own, compiled with other flags.
TEST_F(RankProcesses, RefuseStagesThatDiffer) {
  spill(path("clips.sh"), binary() + train("run", "--steps 2 --mesh stage=2 --clip $RANK").substr(5) + "\n");
  const Outcome clips = launch(2, "sh clips.sh");
  EXPECT_NE(clips.status, 0);
  EXPECT_TRUE(has(clips.err, "--clip")) << clips.err;
  EXPECT_FALSE(fs::exists(path("run/metrics.jsonl")));
}

/// A window of text is longer than all of it; packed documents are not.
TEST_F(RankProcesses, TrainOnShortDocumentsInRows) {
  spill(path("short.txt"), "a cat");
  const Outcome packed =
      launch(2,
             "smelt train spec.json --from-scratch --data short.txt short.txt --data-format "
             "bytes --pack --length 16 --batch 1 --steps 1 --eval-every 0");
  expect_good(packed);
  EXPECT_TRUE(has(packed.out, "done at step 1")) << packed.out;
}

/// Entries without collectives need no other rank.
TEST_F(RankProcesses, AreNotNeededToEvaluate) {
  expect_good(smelt("compile spec.json --max B=2,T=9 --mesh data=2 -o two.plan"));
  expect_good(smelt("evaluate two.plan --from-scratch --data text.txt --data-format bytes --batch 2"));
  const Outcome trained =
      smelt("train two.plan --from-scratch --data text.txt --data-format bytes --batch 2 --steps 1");
  EXPECT_EQ(trained.status, 1);
  EXPECT_TRUE(has(trained.err, "this process runs alone")) << trained.err;
  EXPECT_NE(smelt("evaluate spec.json --mesh data=2 --from-scratch --data text.txt").status, 0);
}

TEST_F(RankProcesses, AreShownBeforeTheyRun) {
  const Outcome summary = smelt("dump spec.json --mesh data=2 --summary --entry train_step");
  expect_good(summary);
  EXPECT_TRUE(has(summary.out, "collectives")) << summary.out;
  EXPECT_TRUE(has(summary.out, "all_reduce data")) << summary.out;
  const Outcome why = smelt("dump spec.json --mesh data=4 --explain-sharding --filter optimizer");
  expect_good(why);
  EXPECT_TRUE(has(why.out, "all_reduce")) << why.out;
  const Outcome program = smelt("dump spec.json --mesh data=4 --emit=program --entry train_step");
  expect_good(program);
  EXPECT_TRUE(has(program.out, "mesh {data = 4}")) << program.out.substr(0, 300);
  EXPECT_EQ(count(program.out, "collective all_reduce add f32"), 3);
  const Outcome none = smelt("dump spec.json --explain-sharding");
  EXPECT_NE(none.status, 0);
}

}  // namespace
}  // namespace smelt::test
