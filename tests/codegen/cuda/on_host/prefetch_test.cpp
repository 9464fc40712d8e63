// Prefetched rows, loads that are issued early, blocks whose rows are interleaved: the same bits as without.
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/cuda/emit_cuda.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

constexpr int64_t kSplits = 5;

/// y = x * sum_c(x * scale) + shift, in two blocks of which the second reads a matrix of its own; and its
/// column sums. Rows whose x begins with a negative number are left out.
Kernel walked_rows(int64_t n) {
  KernelBuilder b("walk");
  const Dim outer = Dim::symbol("M"), inner = 3;
  const int r = b.parallel(outer), s = b.parallel(inner), c = b.column(n);
  const int x = b.input(), scale = b.input(), shift = b.input(), y = b.output(), sums = b.partial(n);
  const KernelBuilder::Strides place = {{r, inner * n}, {s, n}, {c, 1}};
  b.row_block();
  const int first = b.load(x, {{r, inner * n}, {s, n}});
  b.kernel.row_predicate = b.op(ScalarOp::ge, {first, b.number(0)});
  b.column_block();
  const int product = b.op(ScalarOp::mul, {b.load(x, place), b.load(scale, {{c, 1}})});
  const int sum = b.reduce(ReduceOp::add, product);
  b.column_block();
  const int result =
      b.op(ScalarOp::add, {b.op(ScalarOp::mul, {b.load(x, place), sum}), b.load(shift, place)});
  b.store(y, place, result);
  b.accumulate(sums, {{c, 1}}, result);
  b.kernel.name = "k_walk";
  return b.kernel;
}

struct Walked {
  std::vector<float> y, sums;
  bool operator==(const Walked&) const = default;
};

class PrefetchedRows : public testing::TestWithParam<int64_t> {
 protected:
  Walked walk(int distance, int team, bool early = false, bool interleaved = false) {
    const int64_t n = GetParam(), rows = 13 * 3;
    Kernel kernel = walked_rows(n);
    Symbols symbols;
    symbols.bound({"M"}, 100);
    for (KernelParam& param : kernel.params) param.alignment = 16;
    schedule(kernel, symbols, parse_target("sm_90"));
    Schedule s = kernel.schedule;
    s.prefetch_distance = distance, s.team = team, s.threads = 64, s.unroll = 1, s.splits = kSplits;
    s.vectors = static_cast<int>((n + s.vector_width * team - 1) / (s.vector_width * team));
    if (early) s.unroll = s.vectors;
    s.interleaved = interleaved;
    take_schedule(kernel, s);
    text_ = emit_cuda(kernel, {});
    const auto xs = random_floats(rows * n, 1), scales = random_floats(n, 2),
               shifts = random_floats(rows * n, 3);
    Walked out{std::vector<float>(rows * n, 7), std::vector<float>(kSplits * n, NAN)};
    const auto data = [](const std::vector<float>& v) { return const_cast<float*>(v.data()); };
    CompiledKernel::run(kernel,
                        {.buffers = {data(xs), data(scales), data(shifts), data(out.y), data(out.sums)},
                         .symbols = {{"M", 13}}});
    return out;
  }
  bool loads_early() const { return text_.find("sm_load_early(") != std::string::npos; }
  bool prefetches() const { return text_.find("sm_prefetch<") != std::string::npos; }

  std::string text_;
};
INSTANTIATE_TEST_SUITE_P(Sizes, PrefetchedRows, testing::Values(4, 36, 64, 196, 388));

TEST_P(PrefetchedRows, GivesTheSameBits) {
  for (const int team : {8, 32, 64}) {
    const Walked plain = walk(0, team);
    EXPECT_FALSE(prefetches());
    for (const int distance : {1, 2}) {
      EXPECT_EQ(walk(distance, team), plain) << "team " << team << ", distance " << distance;
      EXPECT_TRUE(prefetches());
    }
  }
}

TEST_P(PrefetchedRows, EarlyVectorsGiveTheSameBits) {
  for (const int team : {1, 2, 8, 32, 64}) {
    const Walked plain = walk(0, team), early = walk(0, team, true);
    EXPECT_EQ(early, plain) << "team " << team;
  }
  EXPECT_TRUE(loads_early());
}

TEST_P(PrefetchedRows, InterleavedBlocksWriteTheSameRows) {
  for (const int team : {8, 32, 64})
    for (const int distance : {0, 1, 2}) {
      const Walked plain = walk(distance, team), interleaved = walk(distance, team, false, true);
      EXPECT_EQ(interleaved.y, plain.y) << "team " << team << ", distance " << distance;
      const auto n = static_cast<size_t>(GetParam());
      for (size_t c = 0; c < n; ++c) {
        double all = 0, expected = 0;
        for (size_t split = 0; split < kSplits; ++split)
          all += interleaved.sums[split * n + c], expected += plain.sums[split * n + c];
        EXPECT_NEAR(all, expected, 1e-5 * (1 + std::abs(expected)));
      }
    }
}

class UnevenPrefetchedRows : public PrefetchedRows {};
INSTANTIATE_TEST_SUITE_P(Sizes, UnevenPrefetchedRows, testing::Values(3, 33, 197));

TEST_P(UnevenPrefetchedRows, RowsThatAreNotWholeVectorsAreReadInPlace) {
  EXPECT_EQ(walk(1, 32), walk(0, 32));
  walk(1, 32);
  EXPECT_FALSE(prefetches());
}

}  // namespace
}  // namespace smelt::test
