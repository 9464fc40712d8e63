// Matmuls of odd extents: the parts cover every product once.
#include "codegen/lowering/lower.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

GemmStep step_of(Dim m, Dim n, Dim k, DType dtype = DType::bf16) {
  GemmStep step{.a = {{0, 0}, k, 1}, .b = {{1, 0}, n, 1}, .c = {{2, 0}, n, 1}, .m = m, .n = n, .k = k};
  step.dtype = step.result_dtype = dtype;
  return step;
}

TEST(CutGemm, LeavesWhatIsEvenSmallOrWide) {
  EXPECT_EQ(cut_gemm(step_of(50256, 4096, 768)).size(), 1u);
  EXPECT_EQ(cut_gemm(step_of(33, 31, 1001)).size(), 1u);
  EXPECT_EQ(cut_gemm(step_of(Dim::symbol("T"), 50257, 768, DType::f32)).size(), 1u);
  EXPECT_EQ(cut_gemm(step_of(Dim::symbol("T"), 768, 768)).size(), 1u);
}

TEST(CutGemm, ColumnsBeginWhereTheOthersEnd) {
  GemmStep whole = step_of(Dim::symbol("T"), 50257, 768);
  whole.bias = BufferRef{3, 5};
  const auto parts = cut_gemm(whole);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].n, Dim(50256));
  EXPECT_EQ(parts[1].n, Dim(1));
  EXPECT_EQ(parts[1].b.base.offset, Dim(50256));
  EXPECT_EQ(parts[1].c.base.offset, Dim(50256));
  EXPECT_EQ(parts[1].bias->offset, Dim(50261));
  EXPECT_EQ(parts[1].a.base.offset, Dim(0));
}

TEST(CutGemm, RowsMoveTheFirstOperandAndTheResult) {
  const auto parts = cut_gemm(step_of(50257, 768, Dim::symbol("T")));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].m, Dim(1));
  EXPECT_EQ(parts[1].a.base.offset, Dim(50256) * Dim::symbol("T"));
  EXPECT_EQ(parts[1].c.base.offset, Dim(50256 * 768));
}

/// The first part adds to what is there as the whole does, the second to the first.
TEST(CutGemm, SumsAddUp) {
  for (const double beta : {0.0, 1.0}) {
    GemmStep whole = step_of(Dim::symbol("T"), 768, 50257);
    whole.beta = beta, whole.bias = BufferRef{3, 0};
    const auto parts = cut_gemm(whole);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].k + parts[1].k, Dim(50257));
    EXPECT_EQ(parts[0].beta, beta);
    EXPECT_EQ(parts[1].beta, 1);
    EXPECT_TRUE(parts[0].bias && !parts[1].bias);
    EXPECT_EQ(parts[0].a.base.offset, Dim(50256));
    EXPECT_EQ(parts[0].b.base.offset, Dim(50256 * 768));
  }
}

TEST(CutGemm, EveryOddExtentIsCut) { EXPECT_EQ(cut_gemm(step_of(4097, 4099, 5001)).size(), 8u); }

}  // namespace
}  // namespace smelt
