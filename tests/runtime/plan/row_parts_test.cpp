// Parts of products whose rows ranks gather or exchange: which products have them, and where they lie.
#include "runtime/plan/row_parts.h"

#include <gtest/gtest.h>

#include "tests/runtime/example_plan.h"

namespace smelt {
namespace {

constexpr int kX = 0, kGathered = 1, kWeight = 2, kProduct = 3, kExchanged = 4;

/// [B, 4 ranks, T, 16] times [16, 8], and back to [B, 4, T, 16].
class RowParts : public ::testing::Test {
 protected:
  const Dim B_ = Dim::symbol("B"), T_ = Dim::symbol("T");

  CollectiveStep collective(CollectiveKind kind, int from, int to, const Dim& from_stride) const {
    CollectiveStep step{
        .kind = kind, .axis = "model", .from = {from, 0}, .to = {to, 0}, .elements = T_ * 16, .ranks = 4};
    step.rows = B_, step.from_stride = from_stride, step.to_stride = T_ * 64;
    return step;
  }
  GemmStep product(int a, int c, int64_t k, int64_t n) const {
    return {{{a, 0}, k, 1}, {{kWeight, 0}, n, 1}, {{c, 0}, n, 1}, B_ * T_ * 4, n, k};
  }
  std::vector<Step> gathered() const {
    return {example::step(collective(CollectiveKind::all_gather, kX, kGathered, T_ * 16), {}, {}, "gather"),
            example::step(product(kGathered, kProduct, 16, 8), {}, {}, "product")};
  }
  std::vector<Step> exchanged() const {
    return {example::step(product(kProduct, kGathered, 8, 16), {}, {}, "product"),
            example::step(collective(CollectiveKind::all_to_all, kGathered, kExchanged, T_ * 64), {}, {},
                          "sent")};
  }
  static CollectiveStep& collective_of(Step& step) { return std::get<CollectiveStep>(step.what); }
  static GemmStep& product_of(Step& step) { return std::get<GemmStep>(step.what); }
};

TEST_F(RowParts, AreABatchOfTheRowsOfOneRank) {
  std::vector<Step> steps = gathered();
  ASSERT_EQ(reader_in_parts(steps, 0), 1u);
  const GemmStep part = part_read(product_of(steps[1]), collective_of(steps[0]), 3);
  EXPECT_EQ(part.m, T_);
  EXPECT_EQ(part.a.base.offset, T_ * 48);
  EXPECT_EQ(part.c.base.offset, T_ * 24);
  ASSERT_EQ(part.batch.size(), 1u);
  EXPECT_EQ(part.batch[0].extent, B_);
  EXPECT_EQ(part.batch[0].a_stride, T_ * 64);
  EXPECT_EQ(part.batch[0].b_stride, 0);
  EXPECT_EQ(part.batch[0].c_stride, T_ * 32);
}

/// This rank's own needs no copy.
TEST_F(RowParts, OfThisRankLieWhereTheyAreAndWhereTheyGo) {
  std::vector<Step> steps = gathered();
  const GemmStep read = own_part_read(product_of(steps[1]), collective_of(steps[0]), 3);
  EXPECT_EQ(read.a.base, (BufferRef{kX, 0}));
  EXPECT_EQ(read.batch[0].a_stride, T_ * 16);
  EXPECT_EQ(read.c.base.offset, T_ * 24);
  steps = exchanged();
  const GemmStep made = own_part_made(product_of(steps[0]), collective_of(steps[1]), 3);
  EXPECT_EQ(made.c.base, (BufferRef{kExchanged, T_ * 48}));
  EXPECT_EQ(made.batch[0].c_stride, T_ * 64);
  EXPECT_EQ(made.a.base.offset, T_ * 24);
}

TEST_F(RowParts, AreMadeBeforeAnExchange) {
  std::vector<Step> steps = exchanged();
  ASSERT_EQ(maker_in_parts(steps, 1), 0u);
  const GemmStep part = part_made(product_of(steps[0]), collective_of(steps[1]), 2);
  EXPECT_EQ(part.a.base.offset, T_ * 16);
  EXPECT_EQ(part.c.base.offset, T_ * 32);
  EXPECT_EQ(part.batch[0].a_stride, T_ * 32);
}

TEST_F(RowParts, AreNoBatchWhereOneRowIsGathered) {
  std::vector<Step> steps = gathered();
  collective_of(steps[0]).rows = 1;
  EXPECT_FALSE(reader_in_parts(steps, 0)) << "the product has rows of B records";
  product_of(steps[1]).m = T_ * 4;
  ASSERT_TRUE(reader_in_parts(steps, 0));
  EXPECT_TRUE(part_read(product_of(steps[1]), collective_of(steps[0]), 1).batch.empty());
}

TEST_F(RowParts, NeedTheSamePlaceAndTheSameRows) {
  const auto refused = [&](const auto& change) {
    std::vector<Step> steps = gathered();
    change(collective_of(steps[0]), product_of(steps[1]), steps);
    return !reader_in_parts(steps, 0);
  };
  using Steps = std::vector<Step>;
  EXPECT_TRUE(refused([](auto&, GemmStep& p, Steps&) { p.a.base.offset = 16; }));
  EXPECT_TRUE(refused([](auto&, GemmStep& p, Steps&) { std::swap(p.a.row_stride, p.a.column_stride); }));
  EXPECT_TRUE(refused([](auto&, GemmStep& p, Steps&) { p.k = 8; })) << "a row has others' columns";
  EXPECT_TRUE(refused([](auto&, GemmStep& p, Steps&) { p.batch = {{2, 0, 0, 0}}; }));
  EXPECT_TRUE(refused([](auto&, GemmStep& p, Steps&) { p.b.base.buffer = kGathered; }))
      << "it needs all parts";
  EXPECT_TRUE(refused([](auto&, GemmStep& p, Steps&) { p.c.base.buffer = kX; }))
      << "it would write what is sent";
  EXPECT_TRUE(refused([&](CollectiveStep& c, auto&, Steps&) { c.to_stride = T_ * 65; }));
  EXPECT_TRUE(refused([](CollectiveStep& c, auto&, Steps&) { c.kind = CollectiveKind::all_reduce; }));
  EXPECT_TRUE(refused([](CollectiveStep& c, auto&, Steps&) { c.waited_at = 2; })) << "another step waits";
  EXPECT_TRUE(refused([](auto&, auto&, Steps& steps) { steps[1].choice = 0; }));
}

/// Copies of 8 MiB to each of three ranks: long products hide them, short ones are hidden, and tiny parts,
/// each of which takes as long as the whole, are not worth it.
TEST_F(RowParts, AreComputedByThemselvesWhereThatIsFaster) {
  PartedSizes sizes{.ranks = 4, .batch = 4, .rows = 512, .n = 4096, .k = 2048, .part_bytes = 8 << 20};
  sizes.dtype = DType::bf16;
  const PartedSeconds large = parted_seconds(sizes, 132);
  EXPECT_LT(large.parts, 0.8 * large.whole);
  sizes.batch = 1, sizes.rows = 8, sizes.n = 128, sizes.part_bytes = 1 << 12;
  const PartedSeconds small = parted_seconds(sizes, 132);
  EXPECT_GT(small.parts, small.whole);
}

}  // namespace
}  // namespace smelt
