// Kernels with several sets of arguments and kernels with a tail, as CUDA's text run on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "codegen/launches/launch_passes.h"
#include "codegen/scheduling/schedule.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/plan/plan.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_numbers(int64_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(engine);
  return values;
}

/// Blocks in the wrong order, `runs` times.
void run(const Kernel& kernel, std::vector<void*> buffers, const SymbolValues& symbols, int runs = 1) {
  const SharedObject object(test::compile_on_host({&kernel}));
  const auto function = reinterpret_cast<KernelFunction>(object.symbol(kernel.name));
  std::vector<int64_t> dims;
  for (const Dim& dim : test::host_launch_dims(kernel)) dims.push_back(dim.evaluate(symbols));
  const int64_t range = dims.back(), splits = kernel.schedule.splits;
  const int64_t chunk =
      splits > 0 ? std::max<int64_t>(1, (range + splits - 1) / splits) : kernel.schedule.grain;
  const int64_t blocks = splits > 0 ? splits : (range + chunk - 1) / chunk;
  const KernelArgs arguments = {buffers.data(), dims.data(), nullptr, 0, 0, 0, 0, chunk};
  for (int i = 0; i < runs; ++i)
    for (int64_t block = blocks; block-- > 0;)
      function(&arguments, block * chunk, std::max(block * chunk, std::min((block + 1) * chunk, range)));
}

const Target& gpu() {
  static const Target target = parse_target("sm_90");
  return target;
}

/// A kernel of the text and its tail, scheduled as a program's would be.
Kernel scheduled(std::string_view text, std::initializer_list<std::string_view> tail,
                 const Symbols& symbols = {}) {
  Kernel kernel = parse_kernel(text);
  schedule(kernel, symbols, gpu());
  for (const std::string_view last : tail) {
    kernel.tail.push_back(parse_kernel(last));
    schedule(kernel.tail.back(), symbols, gpu());
    EXPECT_TRUE(can_be_tail(kernel.tail.back()));
  }
  fit_tails(kernel);
  return kernel;
}

constexpr std::string_view kSquares = R"(kernel @squares(%x0: f32, out partial %p1: f32[1])
    column c0 = N {
  column {
    %0 = load %x0[c0] : f32
    %1 = mul %0, %0 : f32
    %2 = reduce add %1 : f32
  }
  row {
    accumulate %p1[0] += %2 : f32
  }
}
)";
constexpr std::string_view kFinish = R"(kernel @finish(%p0: f32, out %y0: f32)
    reduced split = 264, column c0 = 1 {
  reduced {
    %0 = load %p0[split] : f32
    %1 = reduce add %0 : f32
  }
  column {
    store %y0[0] = %1 : f32
  }
}
)";
constexpr std::string_view kRoot = R"(kernel @root(%x0: f32, inout %y1: f32) {
  row {
    %0 = load %x0[0] : f32
    %1 = sqrt %0 : f32
    %2 = load %y1[0] : f32
    %3 = add %1, %2 : f32
    store %y1[0] = %3 : f32
  }
}
)";

class Tail : public ::testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Tail, ::testing::Values(1, 3, 31, 197, 777, 60001));

/// A norm: partial sums of many blocks, the sum of these, its root added to a number that stays; at one size
/// with every schedule that code could be made lighter with. The second launch counts its blocks anew.
TEST_P(Tail, FinishesASum) {
  const int64_t n = GetParam();
  Symbols symbols;
  symbols.bound({"N"}, n);
  std::vector<float> x = random_numbers(n, 1);
  double expected = 0;
  for (const float value : x) expected += double{value} * value;
  Kernel kernel = scheduled(kSquares, {kFinish, kRoot}, symbols);
  do {
    std::vector<float> partial(264, kPoison), sum(1, kPoison), total(1, 0.5f);
    run(kernel, {x.data(), partial.data(), partial.data(), sum.data(), sum.data(), total.data()}, {{"N", n}},
        2);
    EXPECT_NEAR(sum[0], expected, 1e-5 * expected);
    EXPECT_NEAR(total[0], 0.5 + 2 * std::sqrt(expected), 1e-5 * expected + 1e-5);
  } while (n == 777 && lighten_schedule(kernel));
}

/// Rows of many blocks, some of which leave early; then all of their results at once and one of them alone.
TEST_P(Tail, FollowsRows) {
  constexpr int64_t kRows = 45;
  const int64_t n = std::min<int64_t>(GetParam(), 777);
  const std::string rows = fmt::format(R"(kernel @rows(%x0: f32, out %y1: f32)
    parallel r0 = {0}, column c0 = N {{
  column {{
    %0 = load %x0[r0*N + c0] : f32
    %1 = reduce add %0 : f32
  }}
  row {{
    store %y1[r0] = %1 : f32
  }}
}}
)",
                                       kRows);
  const std::string columns = fmt::format(R"(kernel @sums(%x0: f32, out %y1: f32)
    parallel r0 = 5, reduced k0 = 9, column c0 = 1 {{
  reduced {{
    %0 = load %x0[r0*9 + k0] : f32
    %1 = reduce add %0 : f32
  }}
  column {{
    store %y1[r0] = %1 : f32
  }}
}}
)");
  constexpr std::string_view kPair = R"(kernel @pair(%x0: f32, out %y1: f32)
    column c0 = 3 {
  row {
    %0 = load %x0[4] : f32
  }
  column {
    %1 = load %x0[c0] : f32
    %2 = add %0, %1 : f32
    store %y1[c0] = %2 : f32
  }
}
)";
  Symbols symbols;
  symbols.bound({"N"}, n);
  std::vector<float> x = random_numbers(kRows * n, 2);
  std::vector<float> row(kRows, kPoison), sums(5, kPoison), pair(4, kPoison);
  run(scheduled(rows, {columns, kPair}, symbols),
      {x.data(), row.data(), row.data(), sums.data(), sums.data(), pair.data()}, {{"N", n}}, 2);
  std::vector<double> expected(5);
  for (int64_t i = 0; i < kRows * n; ++i)
    expected[static_cast<size_t>(i / n / 9)] += x[static_cast<size_t>(i)];
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(sums[i], expected[i], 1e-3) << i;
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(pair[i], sums[4] + sums[i]) << i;
  EXPECT_TRUE(std::isnan(pair[3])) << "nobody writes it";
}

class Copies : public ::testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Copies, ::testing::Values(1, 3, 31, 33, 197, 777));

/// Sums of partial sums in one launch: the same bits as in launches of their own.
TEST_P(Copies, GiveTheSameBits) {
  const int64_t n = GetParam();
  const std::string text = fmt::format(R"(kernel @sums(%p0: f32, out %y0: f32, %p1: f32, out %y1: f32)
    reduced split = 264, column c0 = {0} {{
  reduced {{
    %0 = load %p0[split*{0} + c0] : f32
    %1 = reduce add %0 : f32
    %2 = load %p1[split*{0} + c0] : f32
    %3 = reduce add %2 : f32
  }}
  column {{
    store %y0[c0] = %1 : f32
    store %y1[c0] = %3 : f32
  }}
}}
)",
                                       n);
  Kernel kernel = scheduled(text, {});
  std::vector<std::vector<float>> from, one, many;
  std::vector<void*> all;
  kernel.copies = 1;
  for (uint32_t i = 0; i < 6; ++i) {
    from.push_back(random_numbers(264 * n, i));
    one.emplace_back(n, kPoison), many.emplace_back(n, kPoison);
  }
  for (size_t i = 0; i < 6; ++i) all.push_back(from[i].data()), all.push_back(many[i].data());
  for (size_t i = 0; i < 6; i += 2)
    run(kernel, {from[i].data(), one[i].data(), from[i + 1].data(), one[i + 1].data()}, {});
  kernel.copies = 3;
  run(kernel, all, {});
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(one[i], many[i]) << i;
  double expected = 0;
  for (size_t split = 0; split < 264; ++split) expected += from[5][split * static_cast<size_t>(n)];
  EXPECT_NEAR(many[5][0], expected, 1e-3);
}

TEST(CanBeTail, WhatOneBlockDoesSoon) {
  const auto can = [](std::string_view text) {
    Kernel kernel = parse_kernel(text);
    return can_be_tail(kernel);
  };
  const auto sum = [](std::string_view axes) {
    return fmt::format(
        "kernel @k(%x: f32, out %y: f32) {} {{ reduced {{ %0 = load %x[k0] : f32 "
        "%1 = reduce add %0 : f32 }} column {{ store %y[c0] = %1 : f32 }} }}",
        axes);
  };
  EXPECT_TRUE(can(kFinish));
  EXPECT_TRUE(can(kRoot));
  EXPECT_FALSE(can(kSquares)) << "as many numbers as N says, and partial sums";
  EXPECT_TRUE(can(sum("reduced k0 = 1024, column c0 = 32")));
  EXPECT_FALSE(can(sum("reduced k0 = 1025, column c0 = 1")));
  EXPECT_FALSE(can(sum("reduced k0 = 8, column c0 = 33")));
  EXPECT_FALSE(can(sum("parallel r0 = 2, reduced k0 = 8, column c0 = 17")));
  EXPECT_FALSE(can(sum("reduced k0 = B, column c0 = 1")));
  EXPECT_FALSE(
      can("kernel @k(out %y: f32) parallel r0 = 2 { row { %0 = constant 1.0 : f32 "
          "store %y[r0] = %0 : f32 } }"))
      << "a thread has one row at most";
  EXPECT_FALSE(
      can("kernel @k(%x: f32, out %y: f32) { row { %0 = load %x[T] : f32 store %y[0] = %0 : f32 } }"));
  Kernel draws = parse_kernel(kRoot);
  draws.random_slots = 1;
  EXPECT_FALSE(can_be_tail(draws));
}

}  // namespace
}  // namespace smelt
