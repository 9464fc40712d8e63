// rematerialize: the same bits from fewer bytes kept between forward and backward.
#include "passes/graph/autodiff/rematerialize.h"

#include <random>

#include "passes/analysis.h"
#include "passes/graph/autodiff/min_cut.h"
#include "passes/graph/reductions/rewrite_reductions.h"
#include "passes/graph/simplify/simplify.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

using testing::relative_error;

std::unique_ptr<Module> training_graph(const std::string& body, const std::vector<std::string>& wrt) {
  auto module = parse_module(
      "symbols B <= 8, T <= 16\n"
      "graph @g(%x: f32[B,T,33], %h: f32[B,T,33], %w: f32[33,33], %u: f32[33], %v: f32[33], %k: i32[B,T]) "
      "{\n" +
      body +
      "  %terms = mul %y, %y : f32[B,T,33]\n"
      "  %loss = reduce add %terms {axes = [0, 1, 2]} : f32[]\n"
      "  return loss = %loss\n}\n");
  Graph& graph = *module->graphs[0];
  differentiate(graph, {"loss", wrt, 1});
  decompose(graph, {});
  simplify(graph, {});
  rewrite_reductions(graph, {});
  simplify(graph, {});
  return module;
}

EvaluateOptions sizes() {
  EvaluateOptions options;
  options.symbols = {{"B", 2}, {"T", 3}};
  options.philox.seed = 5;
  return options;
}

struct Outcome {
  std::unique_ptr<Module> module;
  RematerializeReport report;
  Graph& graph() const { return *module->graphs[0]; }
};

/// Runs the pass and checks all that holds for any graph.
Outcome rematerialized(const std::string& body, const std::vector<std::string>& wrt, double tolerance = 0) {
  const auto before = training_graph(body, wrt);
  Outcome outcome{before->clone(), {}};
  rematerialize(outcome.graph(), {.report = &outcome.report});
  testing::expect_valid(outcome.graph());
  EXPECT_LE(outcome.report.bytes_after, outcome.report.bytes_before);
  const Tensors inputs = testing::random_inputs(*before->graphs[0], 11, sizes().symbols, 33);
  EXPECT_LE(relative_error(evaluate(outcome.graph(), inputs, {}, sizes()).outputs,
                           evaluate(*before->graphs[0], inputs, {}, sizes()).outputs),
            tolerance)
      << print(outcome.graph());
  const std::string text = print(outcome.graph());
  EXPECT_FALSE(rematerialize(outcome.graph(), {})) << text << print(outcome.graph());
  simplify(outcome.graph(), {});
  RematerializeReport again;
  rematerialize(outcome.graph(), {.report = &again});
  EXPECT_EQ(again.bytes_before, outcome.report.bytes_after) << "simplify merged a clone with its original";
  return outcome;
}

constexpr int64_t kFull = 8 * 16 * 33 * 4, kRow = 8 * 16 * 4;

const std::string kDense = "  %a = matmul %x, %w {spec = \"btc,oc->bto\"} : f32[B,T,33]\n";

TEST(Rematerialize, ActivationIsRecomputedFromTheMatmul) {
  const Outcome outcome = rematerialized(kDense + R"(
  %us = broadcast %u {axes = [2]} : f32[B,T,33]
  %b = add %a, %us : f32[B,T,33]
  %y = gelu_tanh %b : f32[B,T,33]
)",
                                         {"x", "w", "u"});
  EXPECT_EQ(outcome.report.bytes_after, kFull);
  ASSERT_EQ(outcome.report.kept.size(), 1u);
  EXPECT_NE(outcome.report.kept[0].node.find("matmul"), std::string::npos) << outcome.report.kept[0].node;
}

TEST(Rematerialize, DropoutIsDrawnAgain) {
  const Outcome outcome =
      rematerialized(kDense + "  %y = dropout %a {p = 0.3, id = 4} : f32[B,T,33]\n", {"x", "w"});
  EXPECT_EQ(outcome.report.bytes_after, kFull);
  size_t drawn = 0;
  for (const auto& node : outcome.graph().nodes())
    if (node->is(Op::random)) {
      ++drawn;
      EXPECT_EQ(node->get(attr::id), 4);
      EXPECT_EQ(node->anchored, in_backward(*node));
    }
  EXPECT_EQ(drawn, 2u);
}

TEST(Rematerialize, NormKeepsItsInputAndTwoStatistics) {
  const Outcome outcome = rematerialized(kDense + R"(
  %r = add %a, %h : f32[B,T,33]
  %n = layer_norm %r, %u, %v {eps = 1e-05} : f32[B,T,33]
  %m = matmul %n, %w {spec = "btc,oc->bto"} : f32[B,T,33]
  %y = add %m, %r : f32[B,T,33]
)",
                                         {"x", "w", "u", "v"});
  // y, for its square's gradient; r, which is in memory anyway for the last sum; the mean and 1 / deviation.
  EXPECT_EQ(outcome.report.bytes_after, 2 * kFull + 2 * kRow);
}

TEST(Rematerialize, ProbabilitiesComeFromScoresAndTwoStatistics) {
  const Outcome outcome = rematerialized(kDense + R"(
  %p = softmax %a : f32[B,T,33]
  %d = dropout %p {p = 0.2, id = 9} : f32[B,T,33]
  %y = matmul %d, %w {spec = "btc,oc->bto"} : f32[B,T,33]
)",
                                         {"x", "w"}, 1e-12);
  EXPECT_EQ(outcome.report.bytes_after, 2 * kFull + 2 * kRow);
}

TEST(Rematerialize, CriterionKeepsLogitsAndTwoStatistics) {
  const Outcome outcome = rematerialized(kDense + R"(
  %l = cross_entropy %a, %k {ignore_index = 3} : f32[B,T]
  %y = broadcast %l {axes = [0, 1]} : f32[B,T,33]
)",
                                         {"x", "w"}, 1e-12);
  EXPECT_LE(outcome.report.bytes_after, kFull + 3 * kRow);
}

TEST(Rematerialize, LongChainsOfSumsAreNotWalkedBack) {
  // r1, r2, r3 cost what a1, a2, a3 cost; reading them in place is less work.
  std::string body = "  %r0 = matmul %x, %w {spec = \"btc,oc->bto\"} : f32[B,T,33]\n";
  for (int i = 1; i <= 3; ++i)
    body += fmt::format(R"(
  %n{0} = layer_norm %r{1}, %u, %v {{eps = 1e-05}} : f32[B,T,33]
  %a{0} = matmul %n{0}, %w {{spec = "btc,oc->bto"}} : f32[B,T,33]
  %r{0} = add %r{1}, %a{0} "residual" : f32[B,T,33]
)",
                        i, i - 1);
  const Outcome outcome = rematerialized(
      body + "  %y = matmul %r3, %w {spec = \"btc,oc->bto\"} : f32[B,T,33]\n", {"w", "u", "v"});
  for (const RematerializeReport::Item& item : outcome.report.recomputed)
    EXPECT_NE(item.node, "add \"residual\"") << "a residual sum is computed again";
}

TEST(Rematerialize, WithoutBackwardNothingHappens) {
  const auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,33]) {
  %y = exp %x : f32[B,33]
  %z = mul %y, %y : f32[B,33]
  return z = %z
})");
  const std::string text = print(*module);
  EXPECT_FALSE(rematerialize(*module->graphs[0], {}));
  EXPECT_EQ(print(*module), text);
}

// ---- the cut

/// The cheapest cut by trying all subsets of vertices.
struct SmallGraph {
  std::vector<int64_t> costs;
  std::vector<std::pair<int, int>> edges;
  std::vector<int> sources, sinks;

  bool separates(unsigned taken) const {
    std::vector<int> stack;
    std::vector<bool> seen(costs.size());
    const auto visit = [&](int v) {
      if (!seen[v] && !(taken >> v & 1)) seen[v] = true, stack.push_back(v);
    };
    for (int v : sources) visit(v);
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      for (const auto& [from, to] : edges)
        if (from == v) visit(to);
    }
    return llvm::none_of(sinks, [&](int v) { return seen[v]; });
  }
  int64_t cost_of(unsigned taken) const {
    int64_t cost = 0;
    for (size_t v = 0; v < costs.size(); ++v) cost += (taken >> v & 1) ? costs[v] : 0;
    return cost;
  }
};

TEST(MinCut, IsTheCheapestOnRandomGraphs) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    SmallGraph small;
    const int n = 1 + static_cast<int>(random() % 9);
    MinCut cut;
    for (int v = 0; v < n; ++v) {
      small.costs.push_back(static_cast<int64_t>(random() % 20));
      EXPECT_EQ(cut.add_vertex(small.costs.back()), v);
    }
    for (int a = 0; a < n; ++a)
      for (int b = a + 1; b < n; ++b)
        if (random() % 3 == 0) {
          small.edges.emplace_back(a, b);
          cut.add_edge(a, b);
        }
    for (int v = 0; v < n; ++v) {
      if (random() % 3 == 0) small.sources.push_back(v), cut.add_source(v);
      if (random() % 3 == 0) small.sinks.push_back(v), cut.add_sink(v);
    }
    int64_t cheapest = MinCut::kInfinite;
    for (unsigned taken = 0; taken < 1u << n; ++taken)
      if (small.separates(taken)) cheapest = std::min(cheapest, small.cost_of(taken));
    const std::vector<bool> found = cut.solve();
    unsigned taken = 0;
    for (int v = 0; v < n; ++v) taken |= found[v] ? 1u << v : 0;
    EXPECT_TRUE(small.separates(taken));
    EXPECT_EQ(small.cost_of(taken), cheapest);
    EXPECT_EQ(cut.cost(), cheapest);
  }
}

TEST(MinCut, TakesTheCutNearestToTheSinks) {
  MinCut cut;
  for (int v = 0; v < 3; ++v) cut.add_vertex(7);
  cut.add_edge(0, 1);
  cut.add_edge(1, 2);
  cut.add_source(0);
  cut.add_sink(2);
  EXPECT_EQ(cut.solve(), (std::vector<bool>{false, false, true}));
}

}  // namespace
}  // namespace smelt
