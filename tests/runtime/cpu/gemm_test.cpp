#include "runtime/cpu/gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <random>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// All index tuples of the batch axes, with what they add to the three places.
void for_each(const std::vector<GemmSizes::Batch>& axes, size_t axis, int64_t a, int64_t b, int64_t c,
              const std::function<void(int64_t, int64_t, int64_t)>& visit) {
  if (axis == axes.size()) return visit(a, b, c);
  for (int64_t i = 0; i < axes[axis].extent; ++i)
    for_each(axes, axis + 1, a + i * axes[axis].a, b + i * axes[axis].b, c + i * axes[axis].c, visit);
}

struct Problem {
  GemmSizes sizes;
  std::vector<float> a, b, c;

  /// Elements from first to last of a matrix with its batch.
  static size_t reach(const GemmSizes& s, const GemmSizes::Matrix& m, int64_t rows, int64_t columns,
                      int64_t GemmSizes::Batch::* stride) {
    int64_t last =
        std::max<int64_t>(0, rows - 1) * m.row_stride + std::max<int64_t>(0, columns - 1) * m.column_stride;
    for (const auto& axis : s.batch) last += std::max<int64_t>(0, axis.extent - 1) * axis.*stride;
    return static_cast<size_t>(last + 1);
  }

  Problem(GemmSizes s, uint32_t seed) : sizes(std::move(s)) {
    a.resize(reach(sizes, sizes.a, sizes.m, sizes.k, &GemmSizes::Batch::a));
    b.resize(reach(sizes, sizes.b, sizes.k, sizes.n, &GemmSizes::Batch::b));
    c.resize(reach(sizes, sizes.c, sizes.m, sizes.n, &GemmSizes::Batch::c));
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (auto* values : {&a, &b, &c})
      for (float& v : *values) v = normal(random);
    if (sizes.beta == 0)  // what is overwritten must not be read, what lies between must stay
      touch([&](int64_t at) { c[static_cast<size_t>(at)] = kNaN; });
  }

  void touch(const std::function<void(int64_t)>& element) const {
    auto axes = sizes.batch;
    std::erase_if(axes, [](const GemmSizes::Batch& axis) { return axis.reduced; });
    for_each(axes, 0, 0, 0, 0, [&](int64_t, int64_t, int64_t c_at) {
      for (int64_t i = 0; i < sizes.m; ++i)
        for (int64_t j = 0; j < sizes.n; ++j)
          element(c_at + i * sizes.c.row_stride + j * sizes.c.column_stride);
    });
  }

  std::vector<double> reference() const {
    std::vector<double> out(c.begin(), c.end());
    touch([&](int64_t at) {
      double& value = out[static_cast<size_t>(at)];
      value = sizes.beta == 0 ? 0 : sizes.beta * value;
    });
    for_each(sizes.batch, 0, 0, 0, 0, [&](int64_t a_at, int64_t b_at, int64_t c_at) {
      for (int64_t i = 0; i < sizes.m; ++i)
        for (int64_t j = 0; j < sizes.n; ++j)
          for (int64_t k = 0; k < sizes.k; ++k)
            out[static_cast<size_t>(c_at + i * sizes.c.row_stride + j * sizes.c.column_stride)] +=
                sizes.alpha *
                static_cast<double>(
                    a[static_cast<size_t>(a_at + i * sizes.a.row_stride + k * sizes.a.column_stride)]) *
                b[static_cast<size_t>(b_at + k * sizes.b.row_stride + j * sizes.b.column_stride)];
    });
    return out;
  }

  void check(const std::string& what) {
    const std::vector<double> expected = reference();
    PreparedGemm(sizes, what).run(a.data(), b.data(), c.data());
    double difference = 0, norm = 0;  // with the spread of sums of k products, which may cancel
    touch([&](int64_t) { norm += static_cast<double>(sizes.k); });
    for (size_t i = 0; i < c.size(); ++i) {
      difference += (c[i] - expected[i]) * (c[i] - expected[i]);
      norm += expected[i] * expected[i];
    }
    EXPECT_LE(std::sqrt(difference), 1e-6 * std::sqrt(norm) + 1e-12) << what;
  }
};

GemmSizes::Matrix matrix(int64_t rows, int64_t columns, bool by_rows, int64_t padding) {
  if (by_rows) return {columns + padding, 1};
  return {1, rows + padding};
}

TEST(Gemm, EveryStrideCombinationAtOddSizes) {
  uint32_t seed = 1;
  for (const int64_t m : {1, 3, 31, 33})
    for (const int64_t n : {1, 3, 33, 197})
      for (const int64_t k : {1, 31, 197})
        for (int layouts = 0; layouts < 8; ++layouts)
          for (const int64_t padding : {0, 5}) {
            GemmSizes s{m,
                        n,
                        k,
                        matrix(m, k, layouts & 1, padding),
                        matrix(k, n, layouts & 2, padding),
                        matrix(m, n, layouts & 4, padding)};
            s.alpha = seed % 3 == 0 ? 1 : -0.5, s.beta = seed % 2 == 0 ? 0 : seed % 5 == 0 ? 1 : 0.25;
            Problem(s, seed++).check(
                fmt::format("m={} n={} k={} layouts={} padding={}", m, n, k, layouts, padding));
          }
}

TEST(Gemm, HundredsOfRowsOrColumnsOfALargeProduct) {
  Problem({50, 300, 256, {256, 1}, {1, 256}, {300, 1}}, 1).check("rows");
  Problem({300, 50, 256, {260, 1}, {1, 256}, {64, 1}}, 2).check("columns");
  Problem({50, 300, 256, {256, 1}, {1, 259}, {1, 50}}, 3).check("rows that are contiguous");
  GemmSizes batch{50, 300, 256, {256, 1}, {1, 256}, {300, 1}};
  batch.batch = {{3, 50 * 256, 300 * 256, 0, true}};
  batch.beta = 0.5;
  Problem(batch, 4).check("a reduced axis");
}

TEST(Gemm, VectorsMayHaveAnyStride) {
  Problem({1, 33, 31, {7, 5}, {40, 1}, {9, 3}}, 1).check("a row of A and of C with steps");
  Problem({33, 1, 31, {31, 1}, {3, 9}, {4, 11}}, 2).check("a column of B and of C with steps");
  Problem({1, 1, 777, {1, 3}, {5, 1}, {1, 1}}, 3).check("a dot product");
  Problem({33, 31, 1, {4, 9}, {9, 2}, {31, 1}}, 4).check("an outer product of vectors with steps");
}

TEST(Gemm, EmptySizesScaleC) {
  for (const double beta : {0.0, 1.0, 0.5}) {
    GemmSizes s{3, 5, 0, {1, 1}, {5, 1}, {5, 1}};
    s.beta = beta;
    Problem(s, 1).check("k = 0");
    s.k = 4, s.a = {4, 1};
    s.batch = {{0, 1, 1, 0, true}};
    Problem(s, 2).check("no reduced index");
    s.batch = {{0, 1, 1, 15, false}};
    Problem(s, 3).check("no batch index");
    s.batch.clear();
    s.m = 0;
    Problem(s, 4).check("m = 0");
    s.m = 3, s.n = 0;
    Problem(s, 5).check("n = 0");
  }
}

TEST(Gemm, BatchAxes) {
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    GemmSizes s{33, 31, 17, {17, 1}, {31, 1}, {31, 1}};
    s.batch = {{5, 33 * 17, 17 * 31, 33 * 31, false}};
    Problem(s, 1).check("one axis");
    s.batch = {{5, 3 * 33 * 17, 17 * 31, 33 * 31, false}, {7, 0, 5 * 17 * 31, 5 * 33 * 31, false}};
    Problem(s, 2).check("two axes, one broadcast");
    s.batch = {{5, 33 * 17, 17 * 31, 0, true}, {7, 5 * 33 * 17, 5 * 17 * 31, 33 * 31, false}};
    s.beta = 0.5;
    Problem(s, 3).check("a reduced axis and a batch axis");
    // Heads of attention: scores[b,h,t,s] from q, k of [b,t,h,d].
    GemmSizes heads{33, 33, 8, {24, 1}, {1, 24}, {36, 1}};
    heads.batch = {{4, 33 * 24, 33 * 24, 3 * 33 * 36, false}, {3, 8, 8, 33 * 36, false}};
    Problem(heads, 4).check("heads");
  }
  omp_set_num_threads(2);
}

TEST(Gemm, CollapsesAxesIntoFewerCalls) {
  GemmSizes s{7, 31, 17, {17, 1}, {1, 17}, {31, 1}};
  s.batch = {{5, 7 * 17, 0, 7 * 31, false}};
  EXPECT_EQ(PreparedGemm(s, "").calls(), 1);
  Problem(s, 1).check("into m");
  GemmSizes n{7, 31, 17, {17, 1}, {1, 17}, {31 * 5, 1}};
  n.batch = {{5, 0, 31 * 17, 31, false}};
  EXPECT_EQ(PreparedGemm(n, "").calls(), 1);
  Problem(n, 2).check("into n");
  GemmSizes k{31, 17, 7, {1, 31}, {17, 1}, {17, 1}};
  k.batch = {{3, 5 * 7 * 31, 5 * 7 * 17, 0, true}, {5, 7 * 31, 7 * 17, 0, true}};
  EXPECT_EQ(PreparedGemm(k, "").calls(), 1);
  Problem(k, 3).check("into k");
  GemmSizes row{1, 31, 17, {17, 1}, {1, 17}, {31, 1}};
  row.batch = {{5, 40, 0, 50, false}};
  EXPECT_EQ(PreparedGemm(row, "").calls(), 1);
  Problem(row, 4).check("rows with a pitch");
  GemmSizes apart{7, 31, 17, {17, 1}, {1, 17}, {31, 1}};
  apart.batch = {{5, 7 * 17 + 1, 0, 7 * 31, false}};
  EXPECT_EQ(PreparedGemm(apart, "").calls(), 5);
  Problem(apart, 5).check("not contiguous");
}

TEST(Gemm, RandomBatches) {
  std::mt19937 random(9);
  const auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const int64_t m = 1 + below(9), n = 1 + below(9), k = 1 + below(9);
    GemmSizes s{m,
                n,
                k,
                matrix(m, k, below(2), below(2)),
                matrix(k, n, below(2), below(2)),
                matrix(m, n, below(2), below(2))};
    s.beta = below(2) ? 0.5 : 0;
    int64_t c_stride = static_cast<int64_t>(Problem::reach(s, s.c, m, n, &GemmSizes::Batch::c));
    for (int64_t i = below(4); i > 0; --i) {
      GemmSizes::Batch axis{1 + below(4), 0, 0, 0, below(3) == 0};
      axis.a = below(3) * m * std::max(s.a.row_stride, s.a.column_stride);
      axis.b = below(3) * k * std::max(s.b.row_stride, s.b.column_stride);
      if (!axis.reduced) axis.c = c_stride, c_stride *= axis.extent;
      s.batch.push_back(axis);
    }
    Problem(s, seed).check(fmt::format("random problem {}", seed));
  }
}

TEST(Gemm, RefusesStridesWithoutAOne) {
  EXPECT_THROW(PreparedGemm({3, 3, 3, {9, 2}, {3, 1}, {3, 1}}, "here"), Error);
  EXPECT_THROW(PreparedGemm({3, 3, 3, {0, 1}, {3, 1}, {3, 1}}, "here"), Error);
  EXPECT_THROW(PreparedGemm({3, 3, 3, {int64_t{1} << 32, 1}, {3, 1}, {3, 1}}, "here"), Error);
}

}  // namespace
}  // namespace smelt
