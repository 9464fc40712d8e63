#include "compiler/cli/commands/doctor.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "runtime/cpu/gemm.h"
#include "runtime/cpu/threads.h"

namespace smelt::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSize = 1024;
constexpr int kFewest = 2;
constexpr std::chrono::duration<double> kTime(1.0 / 6);

/// The number of threads during its life.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) {
    omp_set_num_threads(team_threads(count > 0 ? count : before_));
  }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

double seconds_of(const PreparedGemm& gemm, const std::vector<float>& a, const std::vector<float>& b,
                  std::vector<float>& c) {
  const auto begin = Clock::now();
  gemm.run(a.data(), b.data(), c.data());
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

double peak_matrix_flops(int threads) {
  const Threads set(threads);
  const GemmSizes::Matrix dense{kSize, 1};
  const PreparedGemm gemm({.m = kSize, .n = kSize, .k = kSize, .a = dense, .b = dense, .c = dense}, "peak");
  std::vector<float> a(kSize * kSize, 1.5f), b(kSize * kSize, 0.5f), c(kSize * kSize);
  const auto begin = Clock::now();
  double best = seconds_of(gemm, a, b, c);
  for (int run = 1; run < kFewest || Clock::now() - begin < kTime; ++run)
    best = std::min(best, seconds_of(gemm, a, b, c));
  return 2.0 * kSize * kSize * kSize / best;
}

}  // namespace smelt::cli
