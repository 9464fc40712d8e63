#include "compiler/cli/timer.h"

#include <algorithm>
#include <chrono>

#include "runtime/error.h"

#ifdef SMELT_BENCH
#include <benchmark/benchmark.h>

#include <exception>

namespace smelt::cli {
namespace {

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration && !run.error_occurred)
        seconds.push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
  }
  std::vector<double> seconds;
};

}  // namespace

std::vector<double> time_runs(const std::string& name, int warm_up, int count,
                              const std::function<void()>& run) {
  for (int i = 0; i < warm_up; ++i) run();
  std::exception_ptr thrown;
  const auto body = [&](benchmark::State& state) {
    for (auto _ : state) {
      try {
        if (!thrown) run();
      } catch (...) {
        thrown = std::current_exception();
      }
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), body)->Iterations(1)->Repetitions(count)->UseRealTime();
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  if (thrown) std::rethrow_exception(thrown);
  return collector.seconds;
}

}  // namespace smelt::cli

#else

namespace smelt::cli {

std::vector<double> time_runs(const std::string&, int, int, const std::function<void()>&) {
  fail("this build has no benchmarks: configure it with -DSMELT_BENCH=ON (package libbenchmark-dev)");
}

}  // namespace smelt::cli

#endif

namespace smelt::cli {

int runs_together(const std::function<void()>& run) {
  constexpr double kSecondsTogether = 0.02, kMostTogether = 500;
  const auto begin = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return static_cast<int>(std::clamp(kSecondsTogether / spent.count(), 1.0, kMostTogether));
}

}  // namespace smelt::cli
