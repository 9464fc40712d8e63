// Policies of recomputation as text, the trunk that they follow, and what rematerialize does for a price.
#include "passes/graph/autodiff/recompute_policy.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "passes/graph/autodiff/rematerialize.h"
#include "passes/graph/autodiff/trunk.h"
#include "passes/graph/reductions/rewrite_reductions.h"
#include "passes/graph/simplify/simplify.h"
#include "runtime/base/error.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

constexpr double kAnyTime = std::numeric_limits<double>::infinity();

TEST(RecomputePolicy, IsReadAsItIsWritten) {
  for (const char* text : {"cheap", "price=2.5", "price=inf,layers=2", "price=1,share=0.5,rest=0.25"})
    EXPECT_EQ(parse_recompute_policy(text).str(), text);
  EXPECT_EQ(parse_recompute_policy("layers"), parse_recompute_policy("price=inf,layers=1"));
  EXPECT_DOUBLE_EQ(parse_recompute_policy("price=2.5").seconds_per_gib, 2.5e-3);
  EXPECT_FALSE(parse_recompute_policy("cheap").has_price());
}

TEST(RecomputePolicy, FaultsAreNamed) {
  const auto message = [](const char* text) {
    try {
      parse_recompute_policy(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_NE(message("some").find("'some' is not known"), std::string::npos) << message("some");
  EXPECT_NE(message("").find("is not known"), std::string::npos) << message("");
  for (const char* text : {"price=-1", "price=x", "price=nan", "price=", "price=1e", "layers=1.5",
                           "layers=-1", "layers=inf", "share=2", "rest=-3"})
    EXPECT_NE(message(text).find("expected"), std::string::npos) << text << ": " << message(text);
}

// ---- the trunk

/// A residual block: x + dropout(gelu(norm(x) W) W).
std::string block(int i) {
  return fmt::format(R"(
  %n{0} = layer_norm %r{1}, %u, %v {{eps = 1e-05}} : f32[B,T,33]
  %a{0} = matmul %n{0}, %w {{spec = "btc,oc->bto"}} : f32[B,T,33]
  %g{0} = gelu_tanh %a{0} : f32[B,T,33]
  %b{0} = matmul %g{0}, %w {{spec = "btc,oc->bto"}} : f32[B,T,33]
  %d{0} = dropout %b{0} {{p = 0.25, id = {0}}} : f32[B,T,33]
  %r{0} = add %r{1}, %d{0} : f32[B,T,33]
)",
                     i, i - 1);
}

/// Attention with a residual connection: the block before each of these.
std::string attention_block(int i) {
  return fmt::format(R"(
  %h{0} = reshape %r{1} : f32[B,T,3,11]
  %o{0}, %l{0} = attention %h{0}, %h{0}, %h{0} {{scale = 0.3}} : f32[B,T,3,11], f32[B,3,T]
  %f{0} = reshape %o{0} : f32[B,T,33]
  %p{0} = matmul %f{0}, %w {{spec = "btc,oc->bto"}} : f32[B,T,33]
  %r{0} = add %r{1}, %p{0} : f32[B,T,33]
)",
                     i, i - 1);
}

std::unique_ptr<Module> forward_graph(const std::string& blocks, int last) {
  return parse_module(fmt::format(R"(symbols B <= 8, T <= 16
graph @g(%x: f32[B,T,33], %w: f32[33,33], %u: f32[33], %v: f32[33]) {{
  %r0 = matmul %x, %w {{spec = "btc,oc->bto"}} : f32[B,T,33]
{0}
  %y = matmul %r{1}, %w {{spec = "btc,oc->bto"}} : f32[B,T,33]
  %terms = mul %y, %y : f32[B,T,33]
  %loss = reduce add %terms {{axes = [0, 1, 2]}} : f32[]
  return loss = %loss
}}
)",
                                  blocks, last));
}

bool all(const Node&) { return true; }

TEST(Trunk, IsBetweenTheBlocks) {
  const auto module = forward_graph(block(1) + block(2) + block(3), 3);
  Graph& graph = *module->graphs[0];
  decompose(graph, {});
  const std::vector<TrunkValue> trunk = find_trunk(graph, all);
  ASSERT_EQ(trunk.size(), 3u) << print(graph);  // r3 is read once
  for (size_t i = 0; i < trunk.size(); ++i) {
    EXPECT_EQ(trunk[i].value->name, fmt::format("r{}", i));
    EXPECT_TRUE(trunk[i].begins_layer) << i << ": all blocks are alike";
  }
  EXPECT_EQ(TrunkSegments(graph, all, 0).count(), 4);
  EXPECT_EQ(TrunkSegments(graph, all, 2).count(), 3);
}

TEST(Trunk, LayersAreWhatRepeats) {
  std::string blocks;
  for (int i = 1; i < 7; i += 2) blocks += attention_block(i) + block(i + 1);
  const auto module = forward_graph(blocks, 6);
  Graph& graph = *module->graphs[0];
  decompose(graph, {{Op::attention}});
  const std::vector<TrunkValue> trunk = find_trunk(graph, all);
  ASSERT_EQ(trunk.size(), 6u) << print(graph);
  for (size_t i = 0; i < trunk.size(); ++i) EXPECT_EQ(trunk[i].begins_layer, i % 2 == 0) << i;
}

TEST(Trunk, WhatAllBlocksReadIsNone) {
  // r0 is like an encoder's result: every block reads it again.
  std::string blocks = block(1);
  for (int i = 2; i <= 4; ++i)
    blocks += fmt::format(R"(
  %k{0} = matmul %r0, %w {{spec = "btc,oc->bto"}} : f32[B,T,33]
  %m{0} = mul %r{1}, %k{0} : f32[B,T,33]
  %b{0} = matmul %m{0}, %w {{spec = "btc,oc->bto"}} : f32[B,T,33]
  %r{0} = add %r{1}, %b{0} : f32[B,T,33]
)",
                          i, i - 1);
  const auto module = forward_graph(blocks, 4);
  Graph& graph = *module->graphs[0];
  decompose(graph, {});
  std::vector<std::string> names;
  for (const TrunkValue& trunk : find_trunk(graph, all)) names.push_back(trunk.value->name);
  EXPECT_EQ(names, (std::vector<std::string>{"r0", "r1", "r2", "r3"}));
}

TEST(Trunk, MasksOfTheLossAreNone) {
  // The mask is read before any matmul and behind all of them.
  const auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,33], %k: f32[B,33], %w: f32[33,33]) {
  %r0 = exp %x : f32[B,33]
  %a = matmul %r0, %w {spec = "bc,oc->bo"} : f32[B,33]
  %r1 = add %r0, %a : f32[B,33]
  %l = matmul %r1, %w {spec = "bc,oc->bo"} : f32[B,33]
  %mask = exp %k : f32[B,33]
  %count = reduce add %mask {axes = [0, 1]} : f32[]
  %e = exp %l : f32[B,33]
  %masked = mul %e, %mask : f32[B,33]
  %loss = reduce add %masked {axes = [0, 1]} : f32[]
  return loss = %loss, count = %count
})");
  const std::vector<TrunkValue> trunk = find_trunk(*module->graphs[0], all);
  ASSERT_EQ(trunk.size(), 1u) << trunk.back().value->name;
  EXPECT_EQ(trunk[0].value->name, "r0");
  EXPECT_TRUE(
      TrunkSegments(*module->graphs[0], all, 0).is_last_block(*module->graphs[0]->outputs[0].value->node()));
}

// ---- what a price does

std::unique_ptr<Module> backward_graph(const std::string& blocks, int last) {
  auto module = forward_graph(blocks, last);
  Graph& graph = *module->graphs[0];
  differentiate(graph, {"loss", {"x", "w", "u", "v"}, 1});
  decompose(graph, {{Op::attention, Op::attention_grad}});
  simplify(graph, {});
  rewrite_reductions(graph, {});
  simplify(graph, {});
  return module;
}

struct Priced {
  std::unique_ptr<Module> module;
  RematerializeReport report;
};

/// Runs the pass and checks what holds for every policy.
Priced priced(const Module& before, const RecomputePolicy& policy) {
  Priced result{before.clone(), {}};
  Graph& graph = *result.module->graphs[0];
  rematerialize(graph, {.report = &result.report, .policy = policy});
  testing::expect_valid(graph);
  EXPECT_LE(result.report.bytes_after, result.report.bytes_before);
  EvaluateOptions sizes;
  sizes.symbols = {{"B", 2}, {"T", 3}};
  sizes.philox.seed = 5;
  const Tensors inputs = testing::random_inputs(graph, 11, sizes.symbols);
  EXPECT_LE(testing::relative_error(evaluate(graph, inputs, {}, sizes).outputs,
                                    evaluate(*before.graphs[0], inputs, {}, sizes).outputs),
            1e-12)
      << policy.str() << "\n"
      << print(graph);
  return result;
}

constexpr int64_t kValue = 8 * 16 * 33 * 4, kStatistic = 8 * 16 * 4;

size_t anchored(const Module& module, Op op) {
  size_t n = 0;
  for (const auto& node : module.graphs[0]->nodes()) n += node->is(op) && node->anchored;
  return n;
}

TEST(RematerializeForAPrice, TheTrunkAloneIsKept) {
  const auto before = backward_graph(block(1) + block(2) + block(3), 3);
  const Priced cheap = priced(*before, {}), blocks = priced(*before, {.seconds_per_gib = kAnyTime}),
               layers = priced(*before, {.seconds_per_gib = kAnyTime, .layers = 2});
  EXPECT_EQ(anchored(*cheap.module, Op::matmul), 0u);
  EXPECT_EQ(anchored(*blocks.module, Op::matmul), 2u)
      << "each block's first one: its result is the next's trunk";
  EXPECT_EQ(anchored(*layers.module, Op::matmul), 3u) << "r1 too";
  EXPECT_EQ(blocks.report.bytes_after - layers.report.bytes_after, kValue);
  EXPECT_EQ(cheap.report.bytes_after - blocks.report.bytes_after, 2 * kValue + 4 * kStatistic);
}

TEST(RematerializeForAPrice, MoreIsComputedAgainForMore) {
  const auto before = backward_graph(block(1) + block(2) + block(3), 3);
  int64_t least = std::numeric_limits<int64_t>::max();
  size_t most = 0;
  std::set<int64_t> steps;
  for (double price = 1e-3; price < 1e3; price *= 2) {
    const Priced point = priced(*before, {.seconds_per_gib = price});
    const size_t again = anchored(*point.module, Op::matmul);
    EXPECT_LE(point.report.bytes_after, least);
    EXPECT_GE(again, most);
    least = point.report.bytes_after, most = again;
    steps.insert(least);
  }
  EXPECT_GT(most, 0u);
  EXPECT_GE(steps.size(), 2u);
}

TEST(RematerializeForAPrice, AShareOfTheSegmentsHasIt) {
  const auto before = backward_graph(block(1) + block(2) + block(3), 3);
  // Of four: before r0, and behind r0, r1 and r2. The last one's are kept whatever the price.
  constexpr std::pair<double, size_t> kMatmuls[] = {{0.25, 0}, {0.5, 1}, {0.75, 2}, {1, 2}};
  for (const auto& [share, matmuls] : kMatmuls) {
    const RecomputePolicy policy = {.seconds_per_gib = kAnyTime, .share = share};
    EXPECT_EQ(anchored(*priced(*before, policy).module, Op::matmul), matmuls) << share;
  }
  const RecomputePolicy rest = {.seconds_per_gib = 0, .share = 0.5, .rest = kAnyTime};
  EXPECT_EQ(anchored(*priced(*before, rest).module, Op::matmul), 1u);
}

TEST(RematerializeForAPrice, AttentionRunsAgainOnce) {
  const auto before = backward_graph(attention_block(1) + block(2), 2);
  const Priced all = priced(*before, {.seconds_per_gib = kAnyTime});
  EXPECT_EQ(anchored(*all.module, Op::attention), 1u) << print(*all.module);
}

TEST(RematerializeForAPrice, StandsRightBeforeItsReader) {
  // The last block's values are in memory again before the first one's.
  const auto before = backward_graph(block(1) + block(2) + block(3), 3);
  const Priced all = priced(*before, {.seconds_per_gib = kAnyTime});
  std::vector<std::string> order;
  for (const auto& node : all.module->graphs[0]->nodes())
    if (node->is(Op::random) && node->anchored) order.push_back(std::to_string(node->get(attr::id)));
  EXPECT_EQ(order, (std::vector<std::string>{"3", "2", "1"}));
}

TEST(RematerializeForAPrice, CollectivesRunOnce) {
  auto module = parse_module(R"(symbols B <= 8
mesh {data = 2}
graph @g(%x: f32[B,33], %w: f32[33,33], %g: f32[B,33]) {
  %a = matmul %x, %w {spec = "bc,oc->bo"} : f32[B,33]
  %s = collective %a {kind = "all_reduce", axis = "data"} : f32[B,33]
  %y = exp %s : f32[B,33]
  %d = mul %g, %y {phase = backward} : f32[B,33]
  return y = %y, d = %d
})");
  Graph& graph = *module->graphs[0];
  rematerialize(graph, {.policy = {.seconds_per_gib = kAnyTime}});
  testing::expect_valid(graph);
  EXPECT_EQ(testing::count(graph, Op::collective), 1u) << print(graph);
}

TEST(RematerializeForAPrice, WhatIsTestedForEqualityStays) {
  auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,33], %w: f32[33,33], %g: f32[B,33]) {
  %a = matmul %x, %w {spec = "bc,oc->bo"} : f32[B,33]
  %m = reduce max %a {axes = [1]} : f32[B]
  %ms = broadcast %m {axes = [0], phase = backward} : f32[B,33]
  %e = eq %a, %ms {phase = backward} : bool[B,33]
  %d = select %e, %g, %g {phase = backward} : f32[B,33]
  return m = %m, d = %d
})");
  Graph& graph = *module->graphs[0];
  rematerialize(graph, {.policy = {.seconds_per_gib = kAnyTime}});
  EXPECT_EQ(testing::count(graph, Op::matmul), 1u) << print(graph);
}

// ---- times

TEST(NodeSeconds, FollowFlopAndBytes) {
  auto module = parse_module(R"(symbols B <= 64
graph @g(%x: f32[B,1024], %w: f32[512,1024]) {
  %a = matmul %x, %w {spec = "bc,oc->bo"} : f32[B,512]
  %y = exp %a : f32[B,512]
  return y = %y
})");
  const Graph& graph = *module->graphs[0];
  Rates rates{.bytes_per_second = 1, .wide_flops = 10, .tf32_flops = 20, .narrow_flops = 40};
  const Node& matmul = *graph.outputs[0].value->node()->operand(0)->node();
  const Node& exp = *graph.outputs[0].value->node();
  const double flops = 2.0 * 64 * 512 * 1024;
  EXPECT_EQ(matrix_flops(matmul), flops);
  EXPECT_EQ(matrix_flops(exp), 0);
  EXPECT_DOUBLE_EQ(node_seconds(matmul, {rates}), flops / 10);
  EXPECT_DOUBLE_EQ(node_seconds(matmul, {rates, DType::f32, true}), flops / 20);
  EXPECT_DOUBLE_EQ(node_seconds(matmul, {rates, DType::bf16}), flops / 40);
  EXPECT_DOUBLE_EQ(node_seconds(exp, {rates}), 2 * 64 * 512 * 4.0);
  EXPECT_DOUBLE_EQ(node_seconds(exp, {rates, DType::bf16}), 2 * 64 * 512 * 2.0);
  rates.launch_seconds = 3;
  EXPECT_DOUBLE_EQ(node_seconds(exp, {rates}), 3 + 2 * 64 * 512 * 4.0);
}

TEST(Rates, EveryTargetHasThem) {
  EXPECT_GT(rates_of({}).wide_flops, 0);
  for (const int capability : named_architectures()) {
    const Rates rates = rates_of(parse_target(fmt::format("sm_{}", capability)));
    EXPECT_GT(rates.bytes_per_second, rates_of({}).bytes_per_second) << capability;
    EXPECT_GT(rates.narrow_flops, rates.wide_flops) << capability;
  }
}

}  // namespace
}  // namespace smelt
