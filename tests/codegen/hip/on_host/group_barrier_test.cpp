// The barrier of thread groups that HIP text has for devices, run on the host: a wave's lanes are fibers that
// wait for each other at a wave barrier, and the instructions of GPUs are macros. Waves take different times
// for shuffles and fences, so that a barrier that does not wait gives wrong sums.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codegen/scheduling/schedule.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

constexpr const char* kWave = R"(#define __HIP_DEVICE_COMPILE__ 1
#define __builtin_amdgcn_wavefrontsize() {0}u
#define __builtin_amdgcn_fence(order, scope) take_time()
#define __builtin_amdgcn_wave_barrier() host::barrier(32 + threadIdx.x / {0}, {0})
#define __builtin_amdgcn_s_sleep(cycles) host::yield()
#define __builtin_amdgcn_rcpf(x) (1.0f / (x))
#define __hip_atomic_fetch_add(at, more, order, scope) __atomic_fetch_add(at, more, __ATOMIC_SEQ_CST)
#define __hip_atomic_load(at, order, scope) __atomic_load_n(at, __ATOMIC_SEQ_CST)
inline void take_time() {{
  for (unsigned i = threadIdx.x / {0} * 5 % 13; i > 0; --i) ++host_machine.progress, host::yield();
}}
template <typename T>
T __shfl_xor(T value, int distance, int) {{
  take_time();
  return host_shuffle(~0u, value, threadIdx.x % 32 ^ static_cast<unsigned>(distance));
}}
{1}
)";

template <int lanes>
std::string device_text(const Kernel& kernel) {
  const std::string text = emit_hip(kernel);
  EXPECT_NE(text.find("  sm_barrier("), std::string::npos);
  return fmt::format(fmt::runtime(kWave), lanes, text);
}

/// y = x - the mean of x, along rows.
Kernel less_their_means(int64_t columns) {
  KernelBuilder b("k_means");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(columns), x = b.input(), y = b.output();
  const auto element = [&] { return b.load(x, {{r, columns}, {c, 1}}); };
  b.column_block();
  const int sum = b.reduce(ReduceOp::add, element());
  b.column_block();
  const int mean = b.op(ScalarOp::mul, {sum, b.number(1.0 / static_cast<double>(columns))});
  b.store(y, {{r, columns}, {c, 1}}, b.op(ScalarOp::sub, {element(), mean}));
  return b.kernel;
}

struct GroupCase {
  int threads, team;
  HostText text;
};

class GroupBarrier : public ::testing::TestWithParam<GroupCase> {};
INSTANTIATE_TEST_SUITE_P(Waves, GroupBarrier,
                         ::testing::Values(GroupCase{512, 128, device_text<64>},
                                           GroupCase{512, 128, device_text<32>},
                                           GroupCase{256, 64, device_text<64>},
                                           GroupCase{256, 64, device_text<32>},
                                           GroupCase{512, 256, device_text<64>}));

/// Groups without a row do not come to the barriers of the others.
TEST_P(GroupBarrier, RowsOfEachGroupHaveTheirMeans) {
  const auto [threads, team, text] = GetParam();
  const int64_t columns = 8 * team - 3, rows = 2 * threads / team + 1;
  Schedule schedule;
  schedule.threads = threads, schedule.team = team, schedule.vector_width = 1, schedule.vectors = 8;
  schedule.grain = threads / team, schedule.index32 = true;
  Kernel kernel = less_their_means(columns);
  take_schedule(kernel, schedule);
  auto x = random_floats(rows * columns, 17 + team, -1, 3);
  std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN());
  CompiledKernel::run(kernel, {.buffers = {x.data(), y.data()}, .symbols = {{"M", rows}}}, text);
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < columns; ++i) sum += x[row * columns + i];
    for (int64_t i = 0; i < columns; ++i)
      ASSERT_NEAR(y[row * columns + i], x[row * columns + i] - sum / columns, 1e-5) << row << ", " << i;
  }
}

}  // namespace
}  // namespace smelt::test
