// Softmax as machine code: a maximum with its sum of exponentials, and exponentials that are kept for the
// result.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codegen/scheduling/schedule.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

constexpr float kSoftmaxInfinity = std::numeric_limits<float>::infinity();
constexpr float kSoftmaxNaN = std::numeric_limits<float>::quiet_NaN();

class SoftmaxSizes : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Rows, SoftmaxSizes, testing::Values(1, 2, 3, 16, 31, 33, 64, 197, 512, 777));

Kernel softmax(const Dim& n) {
  KernelBuilder b("softmax");
  const int r = b.parallel(5), c = b.column(n);
  const int x = b.input(), y = b.output(), statistics = b.output();
  b.column_block();
  const int m = b.reduce(ReduceOp::max_sumexp, b.load(x, {{r, n}, {c, 1}}));
  const int s = b.second(m);
  b.row_block();
  b.store(statistics, {{r, 1}}, b.op(ScalarOp::add, {m, b.op(ScalarOp::log, {s})}));
  b.column_block();
  const int shifted = b.op(ScalarOp::sub, {b.load(x, {{r, n}, {c, 1}}), m});
  b.store(y, {{r, n}, {c, 1}}, b.op(ScalarOp::div, {b.op(ScalarOp::exp, {shifted}), s}));
  return b.kernel;
}

void check_softmax(int64_t n, const Kernel& kernel) {
  auto x = random_floats(5 * n, 7, -20, 20);
  for (int64_t j = 0; j < n; ++j) x[3 * n + j] += 1000;  // no overflow
  std::vector<float> y(5 * n, kSoftmaxNaN), lse(5, kSoftmaxNaN);
  std::vector<double> expected(5 * n);
  CompiledKernel(kernel).launch(
      {.buffers = {x.data(), y.data(), lse.data()}, .symbols = {{"N", n}}, .chunk = 1});
  for (int64_t i = 0; i < 5; ++i) {
    double m = -INFINITY, s = 0;
    for (int64_t j = 0; j < n; ++j) m = std::max<double>(m, x[i * n + j]);
    for (int64_t j = 0; j < n; ++j) s += std::exp(x[i * n + j] - m);
    for (int64_t j = 0; j < n; ++j) expected[i * n + j] = std::exp(x[i * n + j] - m) / s;
    EXPECT_NEAR(lse[i], m + std::log(s), 1e-6 * std::abs(m + std::log(s)) + 1e-6);
  }
  EXPECT_LT(relative_error(y, expected), 1e-6);
}

TEST_P(SoftmaxSizes, AgreeWithDoubles) {
  check_softmax(GetParam(), softmax(GetParam()));
  check_softmax(GetParam(), softmax(Dim::symbol("N")));
}

TEST(LongSoftmax, OfAVocabulary) { check_softmax(50257, softmax(50257)); }

bool keeps_exponentials(const Kernel& kernel) {
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [](const Instruction& i) { return i.form == Form::kept; });
}

/// As the schedule wants it: exponentials of the reduction are scaled, not made again.
Kernel scheduled_softmax(const Dim& n, int64_t bound) {
  Kernel kernel = softmax(n);
  Symbols symbols;
  symbols.bound({"N"}, bound);
  schedule(kernel, symbols);
  EXPECT_TRUE(keeps_exponentials(kernel));
  return kernel;
}

TEST_P(SoftmaxSizes, ScaleKeptExponentials) {
  check_softmax(GetParam(), scheduled_softmax(GetParam(), 1));
  check_softmax(GetParam(), scheduled_softmax(Dim::symbol("N"), GetParam()));
}

TEST(LongSoftmax, OfKeptExponentials) {
  check_softmax(50257, scheduled_softmax(50257, 1));
  check_softmax(8192, scheduled_softmax(Dim::symbol("N"), 9000));
}

/// Every tile has a higher maximum than the ones before; a tile of -inf, a row of -inf, a NaN.
TEST(LongSoftmax, KeptExponentialsOfRisingTiles) {
  const int64_t n = 7000;
  const Kernel kernel = scheduled_softmax(n, 1);
  std::vector<float> x(5 * n), y(5 * n, kSoftmaxNaN), lse(5);
  for (int64_t j = 0; j < n; ++j) x[j] = static_cast<float>(j) * 0.01f;
  for (int64_t j = 0; j < n; ++j) x[n + j] = j < 3000 ? -kSoftmaxInfinity : static_cast<float>(j % 7);
  for (int64_t j = 0; j < n; ++j) x[2 * n + j] = -kSoftmaxInfinity;
  for (int64_t j = 0; j < n; ++j) x[3 * n + j] = j == 5000 ? kSoftmaxNaN : 0.0f;
  CompiledKernel(kernel).launch({.buffers = {x.data(), y.data(), lse.data()}, .chunk = 1});
  for (int64_t i : {0, 1}) {
    double m = -INFINITY, s = 0;
    for (int64_t j = 0; j < n; ++j) m = std::max<double>(m, x[i * n + j]);
    for (int64_t j = 0; j < n; ++j) s += std::exp(x[i * n + j] - m);
    for (int64_t j = 0; j < n; ++j) {
      const double below = m - x[i * n + j], expected = std::exp(-below) / s;
      const double bound = 1e-6 + 1.2e-7 * (below < 100 ? below : 0);  // x - m itself is rounded
      EXPECT_NEAR(y[i * n + j], expected, bound * expected + 1e-37) << i << " " << j;
    }
  }
  for (int64_t j = 2 * n; j < 4 * n; ++j) ASSERT_TRUE(std::isnan(y[j])) << j;
}

/// The second block reads what the first one has written since.
TEST(LongSoftmax, ExponentialsOfChangedMemoryAreNotKept) {
  const int64_t n = 100;
  KernelBuilder b("changed");
  const int r = b.parallel(1), c = b.column(n), x = b.output(), y = b.output();
  b.column_block();
  const int value = b.load(x, {{r, n}, {c, 1}});
  const int m = b.reduce(ReduceOp::max_sumexp, value);
  b.store(x, {{r, n}, {c, 1}}, b.op(ScalarOp::neg, {value}));
  b.column_block();
  const int shifted = b.op(ScalarOp::sub, {b.load(x, {{r, n}, {c, 1}}), m});
  b.store(y, {{r, n}, {c, 1}}, b.op(ScalarOp::exp, {shifted}));
  schedule(b.kernel, Symbols());
  EXPECT_FALSE(keeps_exponentials(b.kernel));
  const auto before = random_floats(n, 5);
  auto xs = before;
  std::vector<float> ys(n, kSoftmaxNaN);
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), ys.data()}});
  const float top = *std::max_element(before.begin(), before.end());
  for (int64_t j = 0; j < n; ++j) EXPECT_NEAR(ys[j], std::exp(-before[j] - top), 1e-6) << j;
}

TEST(LongSoftmax, MaxSumexpOfMinusInfinityIsZero) {
  const int64_t n = 777;
  KernelBuilder b("lse");
  const int r = b.parallel(3), c = b.column(n);
  const int x = b.input(), ms = b.output(), ss = b.output();
  b.column_block();
  const int m = b.reduce(ReduceOp::max_sumexp, b.load(x, {{r, n}, {c, 1}}));
  const int s = b.second(m);
  b.row_block();
  b.store(ms, {{r, 1}}, m), b.store(ss, {{r, 1}}, s);
  std::vector<float> in(3 * n, -kSoftmaxInfinity), maxima(3, kSoftmaxNaN), sums(3, kSoftmaxNaN);
  in[n + 700] = 2, in[n + 3] = 2;  // the second row is -inf up to its last tile but for these
  in[2 * n + 600] = kSoftmaxNaN;
  CompiledKernel(b.kernel).launch({.buffers = {in.data(), maxima.data(), sums.data()}});
  EXPECT_EQ(maxima[0], -kSoftmaxInfinity);
  EXPECT_EQ(sums[0], 0);
  EXPECT_EQ(maxima[1], 2);
  EXPECT_EQ(sums[1], 2);
  EXPECT_TRUE(std::isnan(maxima[2])) << maxima[2];
  EXPECT_TRUE(std::isnan(sums[2])) << sums[2];
}

}  // namespace
}  // namespace smelt::test
