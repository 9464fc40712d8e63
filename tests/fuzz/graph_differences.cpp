// Random graphs (tests/support/edge_graphs.h) compiled and run against the evaluator, many at a time.
//
//   graph_differences [--graphs N] [--seed S] [--seconds N] [--target cpu|native|sm_90] [--specials]
//                     [--wide] [--plans] [--minimize] [--dump FOLDER]
//
//   --seed S       the first seed; graph i has the seed S + i
//   --seconds N    no graph is begun after that
//   --target       "native" runs on this machine's GPU: graph_differences --graphs 5000 --seed 1 --target
//   native
//   --specials     inputs also hold NaN, infinities, -0, numbers below the normal ones and large ones
//   --wide         graphs of WideGraph: integers, flags, 16 bits, sorts, equal indices, attention
//   --plans        makes the plan, and checks it, without code and without a run: for targets that are not
//   here
//   --minimize     prints each failing graph as small as single edits make it
//   --dump FOLDER  writes each failing graph to FOLDER/SEED.ir
//
// Graphs run in processes of this kind's own, so that one that crashes or does not end is counted, too. A
// graph without a value at its inputs, as of an index outside of a table, is counted apart. Ends with 1 where
// a graph failed.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "codegen/make_plan.h"
#include "runtime/plan/plan_validate.h"
#include "tests/support/edge_graphs.h"
#include "tests/support/minimize_module.h"

namespace smelt {
namespace {

constexpr unsigned kMostSeconds = 120;  // of one graph
constexpr uint64_t kBatch = 200;        // graphs of one process

using Clock = std::chrono::steady_clock;

struct Arguments {
  uint64_t graphs = 1000, seed = 1;
  double seconds = 1e8;
  std::string target = "cpu", folder;
  bool specials = false, wide = false, plans = false, minimize = false;
};

/// What the process that runs graphs tells the one that counts.
struct Progress {
  uint64_t next, failed, without_value;
};

std::string fault_of_plan(const Module& module, const CompileOptions& options) {
  try {
    const Plan plan = plan_without_code(compile(module.clone(), options, Stage::program).program);
    for (const PlanEntry& entry : plan.entries) check_lifetimes(plan, entry);
    return "";
  } catch (const std::exception& error) {
    return fmt::format("refused: {}", error.what());
  }
}

class Runner {
 public:
  Runner(const Arguments& arguments, Progress& progress) : arguments_(arguments), progress_(progress) {}

  void run(uint64_t end, Clock::time_point latest) {
    for (; progress_.next < end && Clock::now() < latest; ++progress_.next) {
      alarm(kMostSeconds);
      run_one(progress_.next);
    }
  }

 private:
  void run_one(uint64_t seed) {
    testing::EdgeCase made = testing::edge_case(seed, arguments_.wide);
    made.options.target = arguments_.target, made.options.mode = Mode::infer;
    made.run.specials = arguments_.specials;
    try {
      const std::string fault = fault_in(*made.module, made);
      if (!fault.empty()) report(seed, made, fault);
    } catch (const testing::NoExpectation&) {
      ++progress_.without_value;
    }
  }

  void report(uint64_t seed, const testing::EdgeCase& made, const std::string& fault) {
    ++progress_.failed;
    std::printf("seed %lu: %s\n", static_cast<unsigned long>(seed), fault.c_str());
    if (!arguments_.folder.empty())
      std::ofstream(fmt::format("{}/{}.ir", arguments_.folder, seed)) << print(*made.module);
    if (arguments_.minimize) show_small(made, fault);
    std::fflush(stdout);
  }

  std::string fault_in(const Module& module, const testing::EdgeCase& made) const {
    return arguments_.plans ? fault_of_plan(module, made.options)
                            : testing::fault_of(module, made.run, made.options);
  }

  /// A fault of the same kind: shapes, wrong numbers, or the same message up to its first number.
  static std::string kind_of(const std::string& fault) {
    if (fault.find("'s shape") != std::string::npos) return "shape";
    return fault.starts_with("wrong") ? "wrong" : fault.substr(0, fault.find_first_of("0123456789%"));
  }

  bool has_kind(const Module& module, const testing::EdgeCase& made, std::string_view kind) const {
    try {
      return kind_of(fault_in(module, made)) == kind;
    } catch (const testing::NoExpectation&) {
      return false;
    }
  }

  void show_small(const testing::EdgeCase& made, const std::string& fault) const {
    alarm(0);
    const auto small = testing::minimize(
        *made.module, [&](const Module& module) { return has_kind(module, made, kind_of(fault)); });
    std::string sizes;
    for (const auto& [name, value] : made.run.symbols) sizes += fmt::format(" {}={}", name, value);
    std::printf("// input seed %lu,%s: %s\n%s\n", static_cast<unsigned long>(made.run.seed), sizes.c_str(),
                fault_in(*small, made).c_str(), print(*small).c_str());
  }

  const Arguments& arguments_;
  Progress& progress_;
};

/// Runs graphs up to `end` in a process, which begins none after `latest`; it may end early.
void run_batch(const Arguments& arguments, Progress& progress, uint64_t end, Clock::time_point latest) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    Runner(arguments, progress).run(end, latest);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  std::printf("seed %lu: %s (signal %d)\n", static_cast<unsigned long>(progress.next),
              signal == SIGALRM ? "does not end" : "ends the process", signal);
  ++progress.failed, ++progress.next;
}

int run(const Arguments& arguments) {
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  auto& progress = *static_cast<Progress*>(shared);
  progress = {arguments.seed, 0, 0};
  const Clock::time_point start = Clock::now();
  const auto latest =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arguments.seconds));
  const uint64_t end = arguments.seed + arguments.graphs;
  while (progress.next < end && Clock::now() < latest)
    run_batch(arguments, progress, std::min(end, progress.next + kBatch), latest);
  fmt::print("{} graphs from seed {} on for {}: {} failed, {} without a value, {:.0f} s\n",
             progress.next - arguments.seed, arguments.seed, arguments.target, progress.failed,
             progress.without_value, std::chrono::duration<double>(Clock::now() - start).count());
  return progress.failed == 0 ? 0 : 1;
}

bool parse(int count, char** values, Arguments& arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view name = values[i];
    const bool flag = name == "--specials" || name == "--wide" || name == "--plans" || name == "--minimize";
    if (name == "--specials") arguments.specials = true;
    if (name == "--wide") arguments.wide = true;
    if (name == "--plans") arguments.plans = true;
    if (name == "--minimize") arguments.minimize = true;
    if (flag) continue;
    if (i + 1 == count) return false;
    const char* value = values[++i];
    if (name == "--graphs")
      arguments.graphs = std::strtoull(value, nullptr, 10);
    else if (name == "--seed")
      arguments.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--seconds")
      arguments.seconds = std::strtod(value, nullptr);
    else if (name == "--target")
      arguments.target = value;
    else if (name == "--dump")
      arguments.folder = value;
    else
      return false;
  }
  return true;
}

}  // namespace
}  // namespace smelt

int main(int count, char** values) {
  smelt::Arguments arguments;
  if (smelt::parse(count, values, arguments)) return smelt::run(arguments);
  std::fputs(
      "usage: graph_differences [--graphs N] [--seed S] [--seconds N] [--target cpu|native|sm_90]\n"
      "                         [--specials] [--wide] [--plans] [--minimize] [--dump FOLDER]\n",
      stderr);
  return 2;
}
