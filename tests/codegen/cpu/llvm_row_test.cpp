// Row kernels as machine code: tails, reductions, gathers, predicates.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

constexpr float kRowInfinity = std::numeric_limits<float>::infinity();
constexpr float kRowNaN = std::numeric_limits<float>::quiet_NaN();
const int64_t kSizes[] = {1, 2, 3, 16, 31, 33, 64, 197, 512, 777};

class RowTest : public testing::TestWithParam<int64_t> {
 protected:
  int64_t columns() const { return GetParam(); }
  static constexpr int64_t kRows = 5;
  std::vector<float> poisoned(int64_t count) const { return std::vector<float>(count, kRowNaN); }
};
INSTANTIATE_TEST_SUITE_P(Sizes, RowTest, testing::ValuesIn(kSizes));

/// y = x * scale[c] + shift[r], with extents baked in and with extents known at launch.
TEST_P(RowTest, ElementwiseWithBroadcastOperands) {
  for (const bool symbolic : {false, true}) {
    KernelBuilder b("affine");
    const Dim n = symbolic ? Dim::symbol("N") : Dim(columns()), m = symbolic ? Dim::symbol("M") : Dim(kRows);
    const int r = b.parallel(m), c = b.column(n);
    const int x = b.input(), scale = b.input(), shift = b.input(), y = b.output();
    b.column_block();
    const int product = b.op(ScalarOp::mul, {b.load(x, {{r, n}, {c, 1}}), b.load(scale, {{c, 1}})});
    b.store(y, {{r, n}, {c, 1}}, b.op(ScalarOp::add, {product, b.load(shift, {{r, 1}})}));
    const auto xs = random_floats(kRows * columns(), 1), scales = random_floats(columns(), 2),
               shifts = random_floats(kRows, 3);
    // A guard behind the output must stay as it is.
    std::vector<float> out = poisoned(kRows * columns() + 16), expected;
    for (int64_t i = 0; i < kRows; ++i)
      for (int64_t j = 0; j < columns(); ++j)
        expected.push_back(static_cast<float>(double{xs[i * columns() + j]} * scales[j] + shifts[i]));
    CompiledKernel(b.kernel).launch(
        {.buffers = {(void*)xs.data(), (void*)scales.data(), (void*)shifts.data(), out.data()},
         .symbols = {{"N", columns()}, {"M", kRows}},
         .chunk = 2});
    EXPECT_LT(relative_error(out, expected), 2e-7);
    for (int i = 0; i < 16; ++i) EXPECT_TRUE(std::isnan(out[kRows * columns() + i]));
  }
}

/// Two sums in one sweep, shifted by the row's first element, then normalisation.
TEST_P(RowTest, LayerNorm) {
  const int64_t n = columns();
  KernelBuilder b("layer_norm");
  const int r = b.parallel(kRows), c = b.column(n);
  const int x = b.input(), w = b.input(), bias = b.input(), y = b.output(), mean = b.output(),
            rstd = b.output();
  b.row_block();
  const int shift = b.load(x, {{r, n}});
  b.column_block();
  const int d = b.op(ScalarOp::sub, {b.load(x, {{r, n}, {c, 1}}), shift});
  const int s = b.reduce(ReduceOp::add, d), q = b.reduce(ReduceOp::add, b.op(ScalarOp::mul, {d, d}));
  b.row_block();
  const int inverse = b.number(1.0 / n);
  const int mu = b.op(ScalarOp::mul, {s, inverse});
  const int variance =
      b.op(ScalarOp::sub, {b.op(ScalarOp::mul, {q, inverse}), b.op(ScalarOp::mul, {mu, mu})});
  const int scale = b.op(ScalarOp::rsqrt, {b.op(ScalarOp::add, {variance, b.number(1e-5)})});
  const int center = b.op(ScalarOp::add, {mu, shift});
  b.store(mean, {{r, 1}}, center), b.store(rstd, {{r, 1}}, scale);
  b.column_block();
  const int normal = b.op(ScalarOp::mul, {b.op(ScalarOp::sub, {b.load(x, {{r, n}, {c, 1}}), center}), scale});
  b.store(y, {{r, n}, {c, 1}},
          b.op(ScalarOp::add, {b.op(ScalarOp::mul, {normal, b.load(w, {{c, 1}})}), b.load(bias, {{c, 1}})}));
  auto xs = random_floats(kRows * n, 1), ws = random_floats(n, 2), bs = random_floats(n, 3);
  std::vector<float> ys = poisoned(kRows * n), means = poisoned(kRows), rstds = poisoned(kRows);
  CompiledKernel(b.kernel).launch(
      {.buffers = {xs.data(), ws.data(), bs.data(), ys.data(), means.data(), rstds.data()}, .chunk = 3});
  std::vector<double> expected(kRows * n);
  for (int64_t i = 0; i < kRows; ++i) {
    double m = 0, v = 0;
    for (int64_t j = 0; j < n; ++j) m += xs[i * n + j] / static_cast<double>(n);
    for (int64_t j = 0; j < n; ++j) v += (xs[i * n + j] - m) * (xs[i * n + j] - m) / static_cast<double>(n);
    for (int64_t j = 0; j < n; ++j)
      expected[i * n + j] = (xs[i * n + j] - m) / std::sqrt(v + 1e-5) * ws[j] + bs[j];
    EXPECT_NEAR(means[i], m, 1e-6);
  }
  EXPECT_LT(relative_error(ys, expected), 1e-6);
}

/// All rows of reduce_ops.def over two column axes, the inner one short.
TEST_P(RowTest, ReductionsOverTwoColumnAxes) {
  const int64_t n = columns(), h = 3;
  KernelBuilder b("reductions");
  const int r = b.parallel(kRows), o = b.column(h), c = b.column(n);
  const int x = b.input();
  std::vector<int> outputs;
  for (int i = 0; i < 5; ++i) outputs.push_back(b.output());
  const int where = b.output(DType::i32), sums = b.output(), means = b.output(), variances = b.output();
  b.column_block();
  const int v = b.load(x, {{r, h * n}, {o, n}, {c, 1}});
  const int results[] = {b.reduce(ReduceOp::add, v), b.reduce(ReduceOp::max, v), b.reduce(ReduceOp::min, v),
                         b.reduce(ReduceOp::argmax, v), b.reduce(ReduceOp::first, v)};
  const int index = b.second(results[3], DType::i32);
  const int lse = b.reduce(ReduceOp::max_sumexp, v);
  const int s = b.second(lse);
  const int mean = b.reduce(ReduceOp::mean_variance, v), variance = b.second(mean);
  b.row_block();
  for (int i = 0; i < 5; ++i) b.store(outputs[i], {{r, 1}}, results[i]);
  b.store(where, {{r, 1}}, index), b.store(sums, {{r, 1}}, s);
  b.store(means, {{r, 1}}, mean), b.store(variances, {{r, 1}}, variance);
  auto xs = random_floats(kRows * h * n, 9);
  for (float& value : xs) value = std::round(value * 4) / 4;  // equal maxima: the first index counts
  std::vector<std::vector<float>> ys(5, poisoned(kRows));
  std::vector<int32_t> indices(kRows, -7);
  std::vector<float> exponentials = poisoned(kRows), mus = poisoned(kRows), squares = poisoned(kRows);
  CompiledKernel(b.kernel).launch(
      {.buffers = {xs.data(), ys[0].data(), ys[1].data(), ys[2].data(), ys[3].data(), ys[4].data(),
                   indices.data(), exponentials.data(), mus.data(), squares.data()}});
  for (int64_t i = 0; i < kRows; ++i) {
    const float* row = &xs[i * h * n];
    const float* top = std::max_element(row, row + h * n);
    const auto count = static_cast<double>(h * n);
    double sum = 0, e = 0, deviation = 0;
    for (int64_t j = 0; j < h * n; ++j) sum += row[j], e += std::exp(double{row[j]} - *top);
    for (int64_t j = 0; j < h * n; ++j) deviation += std::pow(row[j] - sum / count, 2) / count;
    EXPECT_NEAR(ys[0][i], sum, 1e-4);
    EXPECT_EQ(ys[1][i], *top);
    EXPECT_EQ(ys[2][i], *std::min_element(row, row + h * n));
    EXPECT_EQ(ys[3][i], *top);
    EXPECT_EQ(indices[i], top - row);
    EXPECT_EQ(ys[4][i], row[0]);
    EXPECT_NEAR(exponentials[i], e, 1e-6 * e);
    EXPECT_NEAR(mus[i], sum / count, 1e-6);
    EXPECT_NEAR(squares[i], deviation, 1e-6 * (1 + deviation));
  }
}

TEST(RowKernels, MaximaKeepNaN) {
  const int64_t n = 50;
  KernelBuilder b("nan");
  const int r = b.parallel(3), c = b.column(n);
  const int x = b.input(), y = b.output(), where = b.output(DType::i32);
  b.column_block();
  const int v = b.load(x, {{r, n}, {c, 1}});
  const int m = b.reduce(ReduceOp::max, v), a = b.reduce(ReduceOp::argmax, v), i = b.second(a, DType::i32);
  b.row_block();
  b.store(y, {{r, 1}}, m), b.store(where, {{r, 1}}, i);
  auto xs = random_floats(3 * n, 3);
  xs[17] = xs[40] = kRowNaN;
  for (int64_t j = 0; j < n; ++j) xs[2 * n + j] = -kRowInfinity;
  std::vector<float> ys(3);
  std::vector<int32_t> indices(3, -7);
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), ys.data(), indices.data()}});
  EXPECT_TRUE(std::isnan(ys[0]));
  EXPECT_EQ(indices[0], 17);
  EXPECT_EQ(ys[1], *std::max_element(&xs[n], &xs[2 * n]));
  EXPECT_EQ(ys[2], -kRowInfinity);
  EXPECT_EQ(indices[2], 0);
}

TEST_P(RowTest, InPlace) {
  KernelBuilder b("in_place");
  const int r = b.parallel(kRows), c = b.column(columns());
  const int x = b.input(), y = b.output();
  b.column_block();
  const int top = b.reduce(ReduceOp::max, b.load(x, {{r, columns()}, {c, 1}}));
  b.column_block();
  b.store(y, {{r, columns()}, {c, 1}}, b.op(ScalarOp::sub, {b.load(x, {{r, columns()}, {c, 1}}), top}));
  const auto before = random_floats(kRows * columns(), 5);
  auto values = before;
  CompiledKernel(b.kernel).launch({.buffers = {values.data(), values.data()}});
  for (int64_t i = 0; i < kRows; ++i) {
    const float m = *std::max_element(&before[i * columns()], &before[i * columns()] + columns());
    for (int64_t j = 0; j < columns(); ++j)
      ASSERT_EQ(values[i * columns() + j], before[i * columns() + j] - m);
  }
}

/// Rows of a table by index; an index of -1 reads nothing and gives 0.
TEST_P(RowTest, GatherOfRowsAndOfColumns) {
  const int64_t n = columns(), table_rows = 11;
  KernelBuilder b("gather");
  const int r = b.parallel(kRows), c = b.column(n);
  const int table = b.input(), row_of = b.input(DType::i32), column_of = b.input(DType::i32), y = b.output(),
            z = b.output();
  b.row_block();
  const int row = b.load(row_of, {{r, 1}});
  const int valid = b.op(ScalarOp::ge, {row, b.number(0, DType::i32)}, DType::i32);
  b.column_block();
  b.store(y, {{r, n}, {c, 1}}, b.gather(table, {{c, 1}}, row, n, valid));
  const int column = b.load(column_of, {{c, 1}});
  const int on = b.op(ScalarOp::ge, {column, b.number(0, DType::i32)}, DType::i32);
  b.store(z, {{r, n}, {c, 1}}, b.gather(table, {{r, n}}, column, 1, on));
  auto values = random_floats(table_rows * n, 5);
  std::vector<int32_t> rows = {3, -1, 10, 0, 3}, columns_in;
  for (int64_t j = 0; j < n; ++j)
    columns_in.push_back(j % 5 == 4 ? -1000000000 : static_cast<int32_t>((j * 7) % n));
  std::vector<float> ys = poisoned(kRows * n), zs = poisoned(kRows * n);
  CompiledKernel(b.kernel).launch(
      {.buffers = {values.data(), rows.data(), columns_in.data(), ys.data(), zs.data()}});
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(ys[i * n + j], rows[i] < 0 ? 0 : values[rows[i] * n + j]);
      ASSERT_EQ(zs[i * n + j], columns_in[j] < 0 ? 0 : values[i * n + columns_in[j]]);
    }
}

/// A causal mask as predicate on load and store; the memory behind it must not be touched.
TEST_P(RowTest, PredicatedLoadAndStore) {
  const int64_t n = columns();
  KernelBuilder b("causal");
  const int r = b.parallel(kRows), c = b.column(n);
  const int x = b.input(), y = b.output();
  b.column_block();
  const int on = b.op(ScalarOp::le, {b.index(c), b.index(r)}, DType::i32);
  b.store(y, {{r, n}, {c, 1}}, b.load(x, {{r, n}, {c, 1}}, on), on);
  auto xs = random_floats(kRows * n, 5);
  std::vector<float> ys(kRows * n, 99);
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), ys.data()}});
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < n; ++j) ASSERT_EQ(ys[i * n + j], j <= i ? xs[i * n + j] : 99);
}

/// Strided columns, several parallel axes in an order of their own, a skipped row.
TEST_P(RowTest, TransposedOutputAndSkippedRows) {
  const int64_t n = columns(), heads = 3, batch = 2;
  KernelBuilder b("transpose");
  const int i = b.parallel(Dim::symbol("B")), h = b.parallel(heads), c = b.column(n);
  const int x = b.input(), y = b.output();
  b.row_block();
  const int odd = b.op(ScalarOp::ne, {b.index(h), b.number(1, DType::i32)}, DType::i32);
  b.kernel.row_predicate = odd;
  b.column_block();
  b.store(y, {{i, n * heads}, {h, 1}, {c, heads}}, b.load(x, {{i, n * heads}, {h, n}, {c, 1}}));
  auto xs = random_floats(batch * heads * n, 5);
  std::vector<float> ys(batch * heads * n, 99);
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), ys.data()}, .symbols = {{"B", batch}}, .chunk = 4});
  for (int64_t u = 0; u < batch; ++u)
    for (int64_t v = 0; v < heads; ++v)
      for (int64_t j = 0; j < n; ++j)
        ASSERT_EQ(ys[(u * n + j) * heads + v], v == 1 ? 99 : xs[(u * heads + v) * n + j]);
}

/// A value that is expensive to compute, and a flag, kept in a scratch row for the second block.
TEST_P(RowTest, CachedValues) {
  const int64_t n = columns();
  KernelBuilder b("cached");
  const int r = b.parallel(kRows), c = b.column(Dim::symbol("N"));
  const int x = b.input(), y = b.output();
  b.column_block();
  const int v = b.load(x, {{r, Dim::symbol("N")}, {c, 1}});
  const int e = b.op(ScalarOp::exp, {v}), positive = b.op(ScalarOp::gt, {v, b.number(0)});
  const int sum = b.reduce(ReduceOp::add, e);
  b.column_block();
  const int share = b.op(ScalarOp::div, {e, sum});
  b.store(y, {{r, Dim::symbol("N")}, {c, 1}}, b.op(ScalarOp::select, {positive, share, b.number(-1)}));
  b.kernel.schedule.cached = {e, positive};
  b.kernel.schedule.cached_elements = 1000;
  auto xs = random_floats(kRows * n, 5);
  std::vector<float> ys = poisoned(kRows * n);
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), ys.data()}, .symbols = {{"N", n}}});
  for (int64_t i = 0; i < kRows; ++i) {
    double s = 0;
    for (int64_t j = 0; j < n; ++j) s += std::exp(xs[i * n + j]);
    for (int64_t j = 0; j < n; ++j)
      ASSERT_NEAR(ys[i * n + j], xs[i * n + j] > 0 ? std::exp(xs[i * n + j]) / s : -1, 1e-6);
  }
}

}  // namespace
}  // namespace smelt::test
