// Column sums, segments, partial results: kernels whose parts are combined in memory.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

#ifdef SMELT_CUDA_ON_HOST
constexpr double kManyRowsError = 1e-4;  // a thread sums its share of the rows in f32
#else
constexpr double kManyRowsError = 1e-6;
#endif
constexpr float kReducedNaN = std::numeric_limits<float>::quiet_NaN();

class ReducedTest : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ReducedTest, testing::Values(1, 3, 31, 33, 64, 197, 512, 777));

/// Sums along rows of the numbers above 0 alone.
TEST_P(ReducedTest, ASumTakesWhatItsConditionLets) {
  const int64_t n = GetParam(), rows = 9;
  KernelBuilder b("above");
  const int r = b.parallel(rows), c = b.column(n);
  const int x = b.input(), y = b.output();
  b.column_block();
  const int v = b.load(x, {{r, n}, {c, 1}});
  const int above = b.op(ScalarOp::gt, {v, b.number(0)}, DType::i32);
  const int sum = b.reduce(ReduceOp::add, v);
  b.kernel.instructions[static_cast<size_t>(sum)].predicate = above;
  b.row_block();
  b.store(y, {{r, 1}}, sum);

  auto xs = random_floats(rows * n, 1);
  std::vector<float> sums(rows, kReducedNaN);
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), sums.data()}});
  for (int64_t i = 0; i < rows; ++i) {
    double expected = 0;
    for (int64_t j = 0; j < n; ++j) expected += std::max(xs[i * n + j], 0.f);
    EXPECT_NEAR(sums[i], expected, 1e-4);
  }
}

/// partial[chunk, c] += x[r, c] * y[r]; then a finishing kernel adds the chunks in their order.
TEST_P(ReducedTest, ColumnPartialsAndTheirFinish) {
  const int64_t n = GetParam(), rows = 29, splits = 8;
  KernelBuilder b("partials");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(n);
  const int x = b.input(), w = b.input(), sums = b.partial(n), total = b.partial(1);
  b.column_block();
  const int v = b.op(ScalarOp::mul, {b.load(x, {{r, n}, {c, 1}}), b.load(w, {{r, 1}})});
  b.accumulate(sums, {{c, 1}}, v);
  const int row_sum = b.reduce(ReduceOp::add, v);
  b.row_block();
  b.accumulate(total, {}, row_sum);

  KernelBuilder f("finish");
  const int k = f.reduced(splits), d = f.column(n);
  const int p = f.input(), y = f.output();
  f.reduced_block();
  const int all = f.reduce(ReduceOp::add, f.load(p, {{k, n}, {d, 1}}));
  f.column_block();
  f.store(y, {{d, 1}}, all);
  f.kernel.schedule.tile = 128;

  auto xs = random_floats(rows * n, 1), ws = random_floats(rows, 2);
  std::vector<float> slices(splits * n, kReducedNaN), totals(splits, kReducedNaN), out(n, kReducedNaN);
  std::vector<double> expected(n);
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j)
      expected[j] += double{xs[i * n + j]} * ws[i], sum += double{xs[i * n + j]} * ws[i];
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), ws.data(), slices.data(), totals.data()},
                                   .symbols = {{"M", rows}},
                                   .splits = splits});
  CompiledKernel(f.kernel).launch({.buffers = {slices.data(), out.data()}});
  EXPECT_LT(relative_error(out, expected), 1e-6);
  double found = 0;
  for (float t : totals) found += t;
  EXPECT_NEAR(found, sum, 1e-3);
  // With fewer rows than chunks the last slices are zero, not what was there.
  std::fill(slices.begin(), slices.end(), kReducedNaN);
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), ws.data(), slices.data(), totals.data()},
                                   .symbols = {{"M", 3}},
                                   .splits = splits});
  for (int64_t i = 3 * n; i < splits * n; ++i) ASSERT_EQ(slices[i], 0);
}

/// Chunks of more rows than a short sum has: the slices have the digits of f64 sums, which lie behind them.
TEST_P(ReducedTest, PartialsOfManyRows) {
  const int64_t n = GetParam(), splits = 3;
  KernelBuilder b("many_rows");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(n);
  const int x = b.input(), sums = b.partial(n), total = b.partial(1);
  b.column_block();
  const int v = b.load(x, {{r, n}, {c, 1}});
  b.accumulate(sums, {{c, 1}}, v);
  const int row_sum = b.reduce(ReduceOp::add, v);
  b.row_block();
  b.accumulate(total, {}, row_sum);
  b.kernel.schedule.splits = splits, b.kernel.schedule.sum_rows = 32;
  const CompiledKernel kernel(b.kernel);
  for (const int64_t rows : {1, 96, 97, 1000}) {
    std::vector<float> xs(rows * n, 0.1f), slices(3 * splits * n, kReducedNaN),
        totals(3 * splits, kReducedNaN);
    kernel.launch(
        {.buffers = {xs.data(), slices.data(), totals.data()}, .symbols = {{"M", rows}}, .splits = splits});
    const double expected = double{0.1f} * static_cast<double>(rows);
    for (int64_t j = 0; j < n; ++j)
      EXPECT_NEAR(double{slices[j]} + slices[n + j] + slices[2 * n + j], expected, kManyRowsError * expected);
    EXPECT_NEAR(double{totals[0]} + totals[1] + totals[2], expected * static_cast<double>(n),
                kManyRowsError * expected * static_cast<double>(n));
  }
}

/// Every lane of a vector adds to the same element, or to one that an index picks.
TEST_P(ReducedTest, AccumulationWithConflicts) {
  const int64_t n = GetParam(), rows = 4, bins = 5;
  KernelBuilder b("histogram");
  const int r = b.parallel(rows), c = b.column(n);
  const int x = b.input(), bin = b.input(DType::i32), total = b.partial(1), histogram = b.partial(bins);
  b.column_block();
  const int v = b.load(x, {{r, n}, {c, 1}});
  b.accumulate(total, {}, v);
  const int id = b.accumulate(histogram, {}, v);
  b.kernel.instructions[id].access.computed = b.load(bin, {{c, 1}});
  b.kernel.instructions[id].access.computed_stride = 1;
  std::swap(b.kernel.blocks.back().instructions[2], b.kernel.blocks.back().instructions[3]);
  auto xs = random_floats(rows * n, 1);
  std::vector<int32_t> where(n);
  for (int64_t j = 0; j < n; ++j) where[j] = static_cast<int32_t>(j * j % bins);
  std::vector<float> totals(1, kReducedNaN), counts(bins, kReducedNaN);
  CompiledKernel(b.kernel).launch(
      {.buffers = {xs.data(), where.data(), totals.data(), counts.data()}, .splits = 1});
  std::vector<double> expected(bins);
  double sum = 0;
  for (int64_t i = 0; i < rows * n; ++i) expected[where[i % n]] += xs[i], sum += xs[i];
  EXPECT_NEAR(totals[0], sum, 1e-3);
  for (int64_t i = 0; i < bins; ++i) EXPECT_NEAR(counts[i], expected[i], 1e-3);
}

/// A flat range: a row scalar, an elementwise result, and a sum a chunk; the same whatever calls the chunks.
TEST_P(ReducedTest, FlatRangeWithPartialSum) {
  const int64_t n = GetParam() * 10 + 1;
  KernelBuilder b("flat");
  const int c = b.column(Dim::symbol("N"));
  const int g = b.input(), rate = b.input(), w = b.output(), norm = b.partial(1), seen = b.output();
  b.row_block();
  const int lr = b.load(rate, {});
  b.store(seen, {}, lr);
  b.column_block();
  const int v = b.load(g, {{c, 1}});
  b.store(w, {{c, 1}}, b.op(ScalarOp::sub, {b.load(w, {{c, 1}}), b.op(ScalarOp::mul, {lr, v})}));
  const int squares = b.reduce(ReduceOp::add, b.op(ScalarOp::mul, {v, v}));
  b.row_block();
  b.accumulate(norm, {}, squares);
  b.kernel.schedule.flat = true;
  const CompiledKernel kernel(b.kernel);
  auto gs = random_floats(n, 1), ws = random_floats(n, 2);
  std::vector<float> learning_rate = {0.25f};
  for (int64_t splits : {1, 7, 64}) {
    auto out = ws;
    std::vector<float> partials(splits, kReducedNaN), stored = {kReducedNaN};
    kernel.launch({.buffers = {gs.data(), learning_rate.data(), out.data(), partials.data(), stored.data()},
                   .symbols = {{"N", n}},
                   .splits = splits});
    double expected = 0, found = 0;
    for (float p : partials) found += p;
    for (int64_t i = 0; i < n; ++i) {
      expected += double{gs[i]} * gs[i];
      ASSERT_NEAR(out[i], ws[i] - 0.25 * gs[i], 1e-6);
    }
    EXPECT_NEAR(found, expected, 1e-6 * expected);
    EXPECT_EQ(stored[0], 0.25f);
  }
}

/// y[r] = y[r] + sum of the updates of the segment of r, rows without any skipped.
TEST_P(ReducedTest, SegmentsThroughAPermutation) {
  const int64_t n = GetParam(), rows = 6, updates = 10;
  KernelBuilder b("segments");
  const int r = b.parallel(rows), k = b.reduced(updates), c = b.column(Dim::symbol("N"));
  const Dim width = Dim::symbol("N");
  const int x = b.input(), permutation = b.input(DType::i32), begins = b.input(DType::i32), y = b.output();
  b.row_block();
  const int first = b.load(begins, {{r, 1}}), last = b.load(begins, {{r, 1}});
  b.kernel.instructions[last].access.offset = 1;
  b.kernel.axes[k].begin = first, b.kernel.axes[k].end = last;
  b.kernel.row_predicate = b.op(ScalarOp::lt, {first, last}, DType::i32);
  b.reduced_block();
  const int position = b.load(permutation, {{k, 1}});
  const int v = b.gather(x, {{c, 1}}, position, width);
  const int sum = b.reduce(ReduceOp::add, v), top = b.reduce(ReduceOp::max, v),
            head = b.reduce(ReduceOp::first, v);
  b.column_block();
  const int extra = b.op(ScalarOp::sub, {b.op(ScalarOp::add, {top, head}), b.op(ScalarOp::add, {top, head})});
  b.store(y, {{r, width}, {c, 1}},
          b.op(ScalarOp::add, {b.op(ScalarOp::add, {b.load(y, {{r, width}, {c, 1}}), sum}), extra}));
  b.kernel.schedule.tile = 96;
  auto xs = random_floats(updates * n, 1);
  const std::vector<int32_t> index = {5, 1, 5, 0, 3, 3, 3, 1, 5, 0};
  std::vector<int32_t> order, bounds = {0};
  for (int64_t row = 0; row < rows; ++row) {
    for (int i = 0; i < updates; ++i)
      if (index[i] == row) order.push_back(i);
    bounds.push_back(static_cast<int32_t>(order.size()));
  }
  std::vector<float> ys(rows * n, 0.5f);
  CompiledKernel(b.kernel).launch(
      {.buffers = {xs.data(), order.data(), bounds.data(), ys.data()}, .symbols = {{"N", n}}, .chunk = 3});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < n; ++j) {
      double expected = 0.5;
      for (int i = 0; i < updates; ++i) expected += index[i] == row ? xs[i * n + j] : 0;
      ASSERT_NEAR(ys[row * n + j], expected, 1e-5);
    }
}

/// All reductions down the columns, over two reduced axes, with a parallel axis and an outer column axis.
TEST_P(ReducedTest, EveryReductionDownTheColumns) {
  const int64_t n = GetParam(), batch = 2, outer = 3, u = 4, v = 5;
  KernelBuilder b("down");
  const int i = b.parallel(batch), ku = b.reduced(u), kv = b.reduced(v), o = b.column(outer), c = b.column(n);
  const int x = b.input();
  std::vector<int> outputs;
  for (int output = 0; output < 9; ++output)
    outputs.push_back(b.output(output == 4 ? DType::i32 : DType::f32));
  b.reduced_block();
  const int value = b.load(x, {{i, u * v * outer * n}, {ku, v * outer * n}, {kv, outer * n}, {o, n}, {c, 1}});
  const int arg = b.reduce(ReduceOp::argmax, value), at = b.second(arg, DType::i32);
  const int lse = b.reduce(ReduceOp::max_sumexp, value), s = b.second(lse);
  const int mean = b.reduce(ReduceOp::mean_variance, value), variance = b.second(mean);
  const int results[] = {b.reduce(ReduceOp::add, value),
                         b.reduce(ReduceOp::min, value),
                         b.reduce(ReduceOp::first, value),
                         arg,
                         at,
                         lse,
                         s,
                         mean,
                         variance};
  b.column_block();
  for (int output = 0; output < 9; ++output)
    b.store(outputs[output], {{i, outer * n}, {o, n}, {c, 1}}, results[output]);
  b.kernel.schedule.tile = 64;
  auto xs = random_floats(batch * u * v * outer * n, 1);
  for (float& number : xs) number = std::round(number * 3) / 3;
  std::vector<std::vector<float>> ys(9, std::vector<float>(batch * outer * n, kReducedNaN));
  std::vector<int32_t> where(batch * outer * n, -9);
  Launch launch{.buffers = {xs.data()}};
  for (int output = 0; output < 9; ++output)
    launch.buffers.push_back(output == 4 ? static_cast<void*>(where.data()) : ys[output].data());
  CompiledKernel(b.kernel).launch(launch);
  for (int64_t place = 0; place < batch * outer * n; ++place) {
    const int64_t base = place / (outer * n) * u * v * outer * n + place % (outer * n);
    double sum = 0, low = INFINITY, high = -INFINITY, e = 0;
    int64_t argmax = 0;
    for (int64_t k = 0; k < u * v; ++k) {
      const double number = xs[base + k * outer * n];
      sum += number, low = std::min(low, number);
      if (number > high) high = number, argmax = k;
    }
    double deviation = 0;
    for (int64_t k = 0; k < u * v; ++k) e += std::exp(xs[base + k * outer * n] - high);
    for (int64_t k = 0; k < u * v; ++k)
      deviation += std::pow(xs[base + k * outer * n] - sum / (u * v), 2) / (u * v);
    ASSERT_NEAR(ys[0][place], sum, 1e-5);
    ASSERT_EQ(ys[1][place], static_cast<float>(low));
    ASSERT_EQ(ys[2][place], xs[base]);
    ASSERT_EQ(ys[3][place], static_cast<float>(high));
    ASSERT_EQ(where[place], argmax);
    ASSERT_EQ(ys[5][place], static_cast<float>(high));
    ASSERT_NEAR(ys[6][place], e, 2e-6 * e);
    ASSERT_NEAR(ys[7][place], sum / (u * v), 2e-6);
    ASSERT_NEAR(ys[8][place], deviation, 2e-6 * (1 + deviation));
  }
}

/// Lengths below, at and beyond what threads read at a time, of one array and of two. Thousands of numbers
/// that one thread adds up in their order are off by a little more than 1e-6.
TEST_P(ReducedTest, SumsOfEveryLength) {
  const int64_t n = 20;
  for (const bool two : {false, true}) {
    KernelBuilder b("lengths");
    const int k = b.reduced(Dim::symbol("K")), c = b.column(n);
    const int x = b.input(), w = two ? b.input() : -1, y = b.output();
    b.reduced_block();
    int value = b.load(x, {{k, n}, {c, 1}});
    if (two) value = b.op(ScalarOp::mul, {value, b.load(w, {{k, n}, {c, 1}})});
    const int sum = b.reduce(ReduceOp::add, value);
    b.column_block();
    b.store(y, {{c, 1}}, sum);
    for (const int64_t length : {GetParam(), 9 * GetParam() + 1}) {
      auto xs = random_floats(length * n, 1), ws = random_floats(length * n, 2);
      std::vector<float> ys(n, kReducedNaN);
      std::vector<double> expected(n);
      for (int64_t i = 0; i < length * n; ++i) expected[i % n] += double{xs[i]} * (two ? ws[i] : 1);
      Launch launch{.buffers = {xs.data()}, .symbols = {{"K", length}}};
      if (two) launch.buffers.push_back(ws.data());
      launch.buffers.push_back(ys.data());
      CompiledKernel(b.kernel).launch(launch);
      EXPECT_LT(relative_error(ys, expected), 4e-6) << length << (two ? ", two arrays" : "");
    }
  }
}

/// No column axis at all: scalars out of reduced axes.
TEST(Reduced, WithoutColumns) {
  KernelBuilder b("scalars");
  const int r = b.parallel(3), k = b.reduced(Dim::symbol("K"));
  const int x = b.input(), y = b.output(), z = b.output();
  b.reduced_block();
  const int v = b.load(x, {{r, Dim::symbol("K")}, {k, 1}});
  const int sum = b.reduce(ReduceOp::add, v), lse = b.reduce(ReduceOp::max_sumexp, v), s = b.second(lse);
  b.row_block();
  b.store(y, {{r, 1}}, sum);
  b.store(z, {{r, 1}}, b.op(ScalarOp::mul, {s, b.number(2)}));
  auto xs = random_floats(3 * 33, 1);
  std::vector<float> ys(3, kReducedNaN), zs(3, kReducedNaN);
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), ys.data(), zs.data()}, .symbols = {{"K", 33}}});
  for (int i = 0; i < 3; ++i) {
    double expected = 0, top = -INFINITY, e = 0;
    for (int j = 0; j < 33; ++j) expected += xs[i * 33 + j], top = std::max<double>(top, xs[i * 33 + j]);
    for (int j = 0; j < 33; ++j) e += std::exp(xs[i * 33 + j] - top);
    EXPECT_NEAR(ys[i], expected, 1e-5);
    EXPECT_NEAR(zs[i], 2 * e, 1e-5 * e);
  }
}

/// The same bits whatever the chunks are, where they hold nothing back.
TEST_P(ReducedTest, ChunksDoNotChangeBits) {
  const int64_t n = GetParam(), rows = 13;
  KernelBuilder b("rows");
  const int r = b.parallel(rows), c = b.column(n);
  const int x = b.input(), y = b.output();
  b.column_block();
  const int s = b.reduce(ReduceOp::add, b.op(ScalarOp::exp, {b.load(x, {{r, n}, {c, 1}})}));
  b.row_block();
  b.store(y, {{r, 1}}, s);
  auto xs = random_floats(rows * n, 1);
  std::vector<float> whole(rows), parts(rows);
  const CompiledKernel kernel(b.kernel);
  kernel.launch({.buffers = {xs.data(), whole.data()}, .chunk = rows});
  for (int64_t chunk : {1, 2, 5}) {
    kernel.launch({.buffers = {xs.data(), parts.data()}, .chunk = chunk});
    EXPECT_EQ(parts, whole);
  }
}

}  // namespace
}  // namespace smelt::test
