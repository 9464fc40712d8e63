// Where rewrite_reductions stops, and the digits that it must not lose.
#include "passes/graph/reductions/rewrite_reductions.h"

#include <limits>
#include <set>

#include "passes/analysis.h"
#include "tests/passes/graph/reductions/support.h"

namespace smelt {
namespace {

using testing::reductions::Case, testing::reductions::data_of, testing::reductions::draws_of;
using testing::reductions::expect_as_exact, testing::reductions::kMean, testing::reductions::primitives_of;
using testing::reductions::sizes, testing::relative_error;

TEST(RewriteReductionsDetail, CollectsTermsWithOneFactor) {
  const auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,33], %h: f32[B,33], %r: f32[B], %s: f32[B]) {
  %rs = broadcast %r {axes = [0]} : f32[B,33]
  %ss = broadcast %s {axes = [0]} : f32[B,33]
  %a = mul %rs, %x : f32[B,33]
  %b = mul %x, %ss : f32[B,33]
  %c = mul %h, %ss : f32[B,33]
  %d = add %a, %c : f32[B,33]
  %y = sub %d, %b : f32[B,33]
  %m = reduce max %y {axes = [1]} : f32[B]
  return y = %y, m = %m
})");
  const auto before = module->clone();
  Graph& graph = *module->graphs[0];
  std::vector<ReductionRewrite> log;
  ASSERT_TRUE(rewrite_reductions(graph, {.log = &log}));
  EXPECT_EQ(log.at(0).rule, ReductionRule::collect);
  const auto full_products = llvm::count_if(
      graph.nodes(), [](const auto& n) { return n->is(ScalarOp::mul) && n->result()->rank() == 2; });
  EXPECT_EQ(full_products, 2) << print(graph);
  const EvaluateOptions options = sizes(5, 1);
  const Tensors inputs = testing::random_inputs(graph, 3, options.symbols);
  EXPECT_LT(relative_error(evaluate(graph, inputs, {}, options).outputs,
                           evaluate(*before->graphs[0], inputs, {}, options).outputs),
            1e-12);
}

TEST(RewriteReductionsDetail, LeavesIndependentSumsAlone) {
  const auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,33], %h: f32[B,33]) {
  %z = add %x, %h : f32[B,33]
  %d = sub %z, %h : f32[B,33]
  %q = mul %d, %z : f32[B,33]
  %s = reduce add %q {axes = [1]} : f32[B]
  return s = %s
})");
  const std::string text = print(*module);
  EXPECT_FALSE(rewrite_reductions(*module->graphs[0], {}));
  EXPECT_EQ(print(*module), text);
}

TEST(RewriteReductionsDetail, SquaresBesideARowValueStayTogether) {
  const Case beside{"beside", kMean + R"(
  %q = mul %d, %d : f32[B,T,C]
  %r = add %q, %means : f32[B,T,C]
  %sum2 = reduce add %r {axes = [2]} : f32[B,T]
  %y = broadcast %sum2 {axes = [0, 1]} : f32[B,T,C]
)"};
  const auto before = primitives_of(beside, 33);
  const auto after = before->clone();
  ASSERT_TRUE(rewrite_reductions(*after->graphs[0], {}));
  EXPECT_EQ(reduction_depth(*after->graphs[0]), 1);
  const EvaluateOptions options = sizes(2, 3);
  expect_as_exact(*before->graphs[0], *after->graphs[0], draws_of(*before->graphs[0], 33, options, 0),
                  options);
}

TEST(RewriteReductionsDetail, AMatmulBetweenTwoSumsSeparatesThem) {
  // The second sum is in another kernel anyway: taking it apart would only cost digits.
  const auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,33], %w: f32[33,33]) {
  %s = reduce add %x {axes = [1]} : f32[B]
  %ss = broadcast %s {axes = [0]} : f32[B,33]
  %y = sub %x, %ss : f32[B,33]
  %h = matmul %y, %w {spec = "bc,dc->bd"} : f32[B,33]
  %r = add %y, %h : f32[B,33]
  %t = reduce add %r {axes = [1]} : f32[B]
  return y = %y, t = %t
})");
  EXPECT_FALSE(rewrite_reductions(*module->graphs[0], {})) << print(*module);
}

/// The largest score of a row, and the log of its sum: their sum would round to the digits of the former.
TEST(RewriteReductionsDetail, BackwardOfSoftmaxReadsTwoStatistics) {
  const Case softmax{"softmax", "%y = softmax %x : f32[B,T,C]\n"};
  const auto module = primitives_of(softmax, 31);
  Graph& graph = *module->graphs[0];
  rewrite_reductions(graph, {});
  std::set<const Value*> statistics;
  for (const auto& node : graph.nodes())
    for (const Value* operand : node->operands())
      if (in_backward(*node) && !in_backward(*operand->node()) && operand->rank() == 2)
        statistics.insert(operand);
  EXPECT_EQ(statistics.size(), 2u) << print(graph);
}

/// Two equal largest scores far above the others have the probability 1/2 each, in backward as in forward.
TEST(RewriteReductionsDetail, EqualLargestScoresShareTheProbability) {
  const auto before = primitives_of({"softmax", "%y = softmax %x : f32[B,T,C]\n"}, 33);
  const auto after = before->clone();
  rewrite_reductions(*after->graphs[0], {});
  for (double largest : {300.0, 1e4, 1e7, 1e10, 1e30}) {
    const EvaluateOptions options = sizes(2, 3, true);
    Tensors inputs = data_of(*before->graphs[0], 33, options, 0, 3);
    std::vector<double>& x = inputs.at("x").data;
    for (size_t i = 0; i + 7 < x.size(); i += 33) x[i + 2] = x[i + 7] = largest;
    expect_as_exact(*before->graphs[0], *after->graphs[0], inputs, options);
  }
}

/// A row of masked scores first: they must not become the level of the row.
TEST(RewriteReductionsDetail, MaskedFirstElementsKeepDigits) {
  for (double mask : {-1e30, -std::numeric_limits<double>::infinity(), -10000.0}) {
    const auto before = primitives_of({"softmax", "%y = softmax %x : f32[B,T,C]\n"}, 33);
    const auto after = before->clone();
    rewrite_reductions(*after->graphs[0], {});
    const EvaluateOptions options = sizes(2, 3);
    Tensors inputs = data_of(*before->graphs[0], 33, options, 0, 3);
    for (size_t i = 0; i < inputs.at("x").data.size(); i += 11) inputs.at("x").data[i] = mask;
    expect_as_exact(*before->graphs[0], *after->graphs[0], inputs, options);
  }
}

/// Equal elements: the variance is 0, and must not become negative.
TEST(RewriteReductionsDetail, ConstantRowsHaveNoNegativeVariance) {
  const Case variance{"variance", kMean + R"(
  %q = mul %d, %d : f32[B,T,C]
  %sum2 = reduce add %q {axes = [2]} : f32[B,T]
  %root = sqrt %sum2 : f32[B,T]
  %y = broadcast %root {axes = [0, 1]} : f32[B,T,C]
)"};
  const auto module = primitives_of(variance, 33, false);
  Graph& graph = *module->graphs[0];
  ASSERT_TRUE(rewrite_reductions(graph, {}));
  const EvaluateOptions options = sizes(2, 2, true);
  Tensors inputs = data_of(graph, 33, options, 0, 3);
  for (double& x : inputs.at("x").data) x = static_cast<float>(1234.567);
  const Evaluation result = evaluate(graph, inputs, {}, options);
  for (double y : result.outputs.at("y").data) EXPECT_EQ(y, 0);
}

}  // namespace
}  // namespace smelt
