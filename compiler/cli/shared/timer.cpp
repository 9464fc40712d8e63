#include "compiler/cli/shared/timer.h"

#include <algorithm>
#include <chrono>

namespace smelt::cli {
namespace {

double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::vector<double> time_runs(int warm_up, int count, const std::function<void()>& run) {
  for (int i = 0; i < warm_up; ++i) run();
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(seconds_of(run));
  return seconds;
}

int runs_together(const std::function<void()>& run) {
  constexpr double kSecondsTogether = 0.02, kMostTogether = 500;
  return static_cast<int>(std::clamp(kSecondsTogether / seconds_of(run), 1.0, kMostTogether));
}

}  // namespace smelt::cli
