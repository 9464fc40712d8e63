// Models with adapters against plain formulas in double: logits are those of merged weights, gradients those
// of dual numbers, and a training plan has no product towards a frozen weight.
#include "frontend/blocks/adapters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/driver/compile.h"
#include "frontend/build_transformer.h"
#include "frontend/lora_option.h"
#include "ir/evaluate/evaluator.h"
#include "ir/graph/verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/autodiff/differentiate.h"
#include "passes/graph/simplify/decompose.h"
#include "runtime/session/session.h"
#include "tests/support/merged_adapters.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

constexpr const char* kFusedHeads = "{}";
constexpr const char* kLlamaLike = R"({"attention": {"fused_qkv": false}, "ffn": {"gated": true}})";

/// A decoder of odd sizes in which no two dimensions are equal.
TransformerSpec adapted_spec(const char* fields) {
  Json json = {{"family", "gpt2"},
               {"vocab_size", 131},
               {"hidden", 36},
               {"max_positions", 33},
               {"dropout", {{"embedding", 0}, {"residual", 0}, {"attention", 0}}},
               {"decoder", {{"layers", 2}, {"heads", 4}, {"ffn", 31}}}};
  json.merge_patch(Json::parse(fields));
  return spec_from_object(json, "test");
}

std::unique_ptr<Module> with_adapters(const TransformerSpec& spec, const char* lora, bool training = false) {
  auto module =
      build_transformer(spec, {.training = training, .lora = with_defaults(parse_lora(lora), spec)});
  verify_or_throw(*module);
  return module;
}

const Tensors kTokens = {{"input_ids", {DType::i32, {2, 5}, {1, 5, 130, 0, 7, 9, 9, 2, 44, 3}}},
                         {"labels", {DType::i32, {2, 5}, {1, 5, 130, 0, 7, 9, 9, 2, -100, 3}}}};

EvaluateOptions sizes() {
  EvaluateOptions options;
  options.symbols = {{"B", 2}, {"T", 5}};
  return options;
}

Tensor logits_of(Module& module, const Tensors& states) {
  Graph& graph = *module.find_graph("logits");
  decompose(graph, {});
  return evaluate(graph, kTokens, states, sizes()).outputs.at("logits");
}

TEST(AdaptedModels, GiveTheLogitsOfMergedWeights) {
  for (const char* fields : {kFusedHeads, kLlamaLike})
    for (const char* lora : {"r=3,alpha=6,targets=all-linear", "r=4,alpha=4,rslora"}) {
      const TransformerSpec spec = adapted_spec(fields);
      const auto adapted = with_adapters(spec, lora), plain = build_transformer(spec, {.training = false});
      const Tensors states = testing::random_states(*adapted, 7, {});
      const Tensor found = logits_of(*adapted, states),
                   expected = logits_of(*plain, testing::merged_states(states, 2)),
                   base = logits_of(*plain, testing::merged_states(states, 0));
      EXPECT_LT(testing::relative_error(found, expected), 1e-12) << fields << lora;
      EXPECT_GT(testing::relative_error(found, base), 1e-3) << "adapters change something";
    }
}

TEST(AdaptedModels, GradientsAreThoseOfDualNumbers) {
  const auto module = with_adapters(adapted_spec(kLlamaLike), "r=3,alpha=6", true);
  Graph& graph = *module->find_graph("loss");
  const auto forward = module->clone();
  decompose(*forward->find_graph("loss"), {});
  differentiate(graph, {"loss_sum", {}, 1});
  decompose(graph, {});
  const Tensors states = testing::random_states(*module, 7, {});
  const Evaluation found = evaluate(graph, kTokens, states, sizes());
  size_t compared = 0;
  for (const Module::Parameter& parameter : module->parameters) {
    EXPECT_EQ(found.outputs.contains("grad." + parameter.name), !parameter.frozen) << parameter.name;
    if (parameter.frozen || ++compared > 4) continue;
    std::mt19937_64 random(compared);
    const Tensor along = testing::random_tensor(parameter.type, {}, random);
    const DualEvaluation dual =
        evaluate_dual(*forward->find_graph("loss"), kTokens, states, {{parameter.name, along}}, sizes());
    const Tensor& gradient = found.outputs.at("grad." + parameter.name);
    double product = 0;
    for (size_t i = 0; i < along.data.size(); ++i) product += along.data[i] * gradient.data[i];
    const double expected = dual.tangent.outputs.at("loss_sum").data[0];
    EXPECT_NEAR(product, expected, 1e-9 * (1 + std::fabs(expected))) << parameter.name;
  }
  EXPECT_GT(compared, 4u);
}

}  // namespace
}  // namespace smelt
