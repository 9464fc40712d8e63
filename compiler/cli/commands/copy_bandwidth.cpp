#include "compiler/cli/commands/doctor.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "runtime/cpu/threads.h"

namespace smelt::cli {
namespace {

constexpr int64_t kFloats = int64_t{32} << 20;
constexpr int kRuns = 6;

void copy(const float* from, float* to, [[maybe_unused]] int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < kFloats; ++i) to[i] = from[i];
}

}  // namespace

double copy_bytes_per_second(int threads) {
  threads = team_threads(threads > 0 ? threads : omp_get_max_threads());
  const std::unique_ptr<float[]> from(new float[kFloats]()), to(new float[kFloats]());
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    copy(from.get(), to.get(), threads);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * kFloats * sizeof(float) / spent.count());
  }
  return best;
}

double copy_bytes_per_second(Executor& executor, int threads) {
  const double device = executor.copy_bytes_per_second();
  return device > 0 ? device : copy_bytes_per_second(threads);
}

}  // namespace smelt::cli
