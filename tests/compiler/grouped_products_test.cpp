// Products whose operands lack letters of each other, as groups of queries that share keys do, forward and
// backward: one gemm each, nothing repeated in memory.
#include "tests/compiler/grouped_products.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

using testing::expect_grouped_products;
using testing::grouped_products;
using testing::kGroupedBatch, testing::kGroupedKeys, testing::kGroupedQueries;

Program program_for(const std::string& target) {
  CompileOptions options;
  options.target = target, options.mode = Mode::infer;
  return compile(grouped_products(DType::bf16), options, Stage::program).program;
}

class GroupedProducts : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, GroupedProducts, ::testing::Values("cpu", "sm_90"));

/// Forward, and two gradients of each product.
TEST_P(GroupedProducts, AreOneGemmEach) {
  const Program program = program_for(GetParam());
  std::map<std::string, int> gemms;
  for (const Step& step : program.entries[0].steps) {
    const auto* gemm = std::get_if<GemmStep>(&step.what);
    if (!gemm) continue;
    ++gemms[step.sources.front() + " " + step.phase];
    for (const GemmStep::Batch& batch : gemm->batch)
      EXPECT_FALSE(batch.reduced) << "sums over a group and its queries are one";
    const int64_t rows = program.symbols.upper(gemm->m), columns = program.symbols.upper(gemm->n);
    EXPECT_GE(std::max(rows, columns), std::min(kGroupedQueries, kGroupedKeys));
    EXPECT_GE(std::min(rows, columns), 8) << "no matrix for each token";
  }
  EXPECT_EQ(gemms,
            (std::map<std::string, int>{
                {"scores forward", 1}, {"mix forward", 1}, {"scores backward", 2}, {"mix backward", 2}}));
}

/// What the kernels between write and read lies as the gemms want it.
TEST_P(GroupedProducts, OfTemporariesHaveGroupsAsRows) {
  const Program program = program_for(GetParam());
  int single = 0;
  for (const Step& step : program.entries[0].steps) {
    const auto* gemm = std::get_if<GemmStep>(&step.what);
    if (!gemm || step.sources.front() != "scores") continue;
    EXPECT_EQ(gemm->batch.size(), 1U) << "one stride";
    single +=
        gemm->m == Dim::symbol("T") * 3 || gemm->n == Dim::symbol("T") * 3 || gemm->k == Dim::symbol("T") * 3;
  }
  EXPECT_EQ(single, 3);
}

/// One gradient, whose queries do not follow each other as the weights' do, is copied; keys are never
/// repeated.
TEST_P(GroupedProducts, RepeatNothing) {
  const Program program = program_for(GetParam());
  const int64_t queries = kGroupedBatch * kGroupedQueries * 18 * 8;
  int copies = 0;
  for (const Step& step : program.entries[0].steps) {
    const auto* launch = std::get_if<KernelStep>(&step.what);
    const bool kernel =
        launch && program.kernels[static_cast<size_t>(launch->kernel)].name.find("copy") != std::string::npos;
    if (!kernel && !std::holds_alternative<CopyStep>(step.what)) continue;
    ++copies;
    EXPECT_EQ(program.symbols.upper(program.buffers[static_cast<size_t>(step.writes[0])].elements), queries);
  }
  EXPECT_LE(copies, 1);
  std::set<int64_t> sizes;  // of what is computed
  for (const Buffer& buffer : program.buffers)
    if (in_arena(buffer.role)) sizes.insert(program.symbols.upper(buffer.elements));
  EXPECT_TRUE(sizes.contains(queries) && sizes.contains(kGroupedBatch * kGroupedKeys * 6 * 8));
  EXPECT_FALSE(sizes.contains(kGroupedBatch * kGroupedKeys * 18 * 8)) << "the keys of every query";
}

TEST(GroupedProductsOnTheCpu, MatchTheEvaluator) {
  expect_grouped_products(DType::f32);
  expect_grouped_products(DType::bf16);
}

}  // namespace
}  // namespace smelt
