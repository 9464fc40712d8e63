#include "tests/support/random_graph.h"
#include "tests/support/minimize_module.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/evaluate/evaluator.h"
#include "ir/text/text.h"
#include "tests/support/random_tensors.h"

namespace smelt::testing {
namespace {

TEST(RandomGraph, IsValidAndTheSameForTheSameSeed) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto module = random_module(seed);
    for (const std::string& message : verify(*module)) ADD_FAILURE() << "seed " << seed << ": " << message;
    EXPECT_EQ(print(*module), print(*random_module(seed)));
  }
}

TEST(RandomGraph, ReachesEveryOperationItKnows) {
  std::set<std::string_view> seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto module = random_module(seed);
    for (const auto& node : module->graphs[0]->nodes()) seen.insert(node->mnemonic());
  }
  for (std::string_view op :
       {"reduce",      "broadcast", "reshape", "transpose", "slice",       "concat",        "gather",
        "scatter_add", "matmul",    "linear",  "softmax",   "log_softmax", "layer_norm",    "rms_norm",
        "gelu",        "gelu_tanh", "silu",    "dropout",   "attention",   "cross_entropy", "random",
        "iota",        "convert",   "select",  "max",       "erf"})
    EXPECT_TRUE(seen.count(op)) << op;
}

/// Values stay finite, and re-evaluation in float32 stays near: the graphs are well conditioned.
TEST(RandomGraph, EvaluatesToFiniteValuesAtAllSizes) {
  RandomGraphOptions options;
  options.composites = false;
  options.nodes = 24;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const auto module = random_module(seed, options);
    const Graph& graph = *module->graphs[0];
    EvaluateOptions evaluation{random_sizes(seed), {}, false, false};
    const Tensors inputs = random_inputs(graph, seed, evaluation.symbols),
                  states = random_states(graph, seed, evaluation.symbols);
    const Evaluation result = evaluate(graph, inputs, states, evaluation);
    EXPECT_FALSE(result.outputs.empty());
    for (const auto& [name, tensor] : result.outputs)
      for (double x : tensor.data)
        ASSERT_TRUE(std::isfinite(x)) << "seed " << seed << " " << name << "\n" << print(graph);
  }
}

TEST(Minimize, LeavesTheFewNodesThatMatter) {
  int tried = 0;
  for (uint64_t seed = 0; seed < 60 && tried < 8; ++seed) {
    const auto module = random_module(seed, {24, true, true, true, true});
    const auto has_erf = [](const Module& m) {
      for (const auto& node : m.graphs[0]->nodes())
        if (node->is(ScalarOp::erf)) return true;
      return false;
    };
    if (!has_erf(*module)) continue;
    ++tried;
    const auto small = minimize(*module, has_erf);
    EXPECT_TRUE(has_erf(*small));
    EXPECT_LE(small->graphs[0]->size(), 3u) << print(*small);
    EXPECT_TRUE(verify(*small).empty());
  }
  EXPECT_EQ(tried, 8);
}

}  // namespace
}  // namespace smelt::testing
