// Dynamic NTK scaling: a batch of more than max_positions tokens is rotated as by a model of a larger theta,
// a shorter one as if nothing were scaled.
#include <cmath>

#include "frontend/build_transformer.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

constexpr int64_t kMost = 6, kHeadDim = 10;
constexpr double kFactor = 2.5, kTheta = 100;

std::unique_ptr<Module> model(const char* scaling, double theta, bool position_ids = false) {
  const Json spec = {
      {"family", "llama"},
      {"vocab_size", 31},
      {"hidden", 20},
      {"max_positions", kMost},
      {"decoder", {{"layers", 2}, {"heads", 2}, {"head_dim", kHeadDim}, {"ffn", 33}}},
      {"positions", {{"scaling", scaling}, {"rope_theta", theta}, {"scaling_factor", kFactor}}}};
  auto module = build_transformer(spec_from_object(spec, "test"),
                                  {.bounds = {{{"T"}, 20}}, .position_ids = position_ids});
  std::erase_if(module->graphs, [](const auto& graph) { return graph->name != "logits"; });
  return module;
}

Tensors logits(const Module& module, int64_t length, const Tensors& more = {}) {
  const auto primitive = module.clone();
  Graph& graph = *primitive->graphs.front();
  const SymbolValues symbols = {{"B", 2}, {"T", length}};
  Tensors inputs = testing::random_inputs(graph, 5, symbols);
  for (const auto& [name, tensor] : more) inputs[name] = tensor;
  decompose(graph, {});
  return evaluate(graph, inputs, testing::random_states(graph, 6, symbols),
                  {.symbols = symbols, .philox = {}})
      .outputs;
}

double theta_at(int64_t length) {
  const double times = static_cast<double>(length) / kMost;
  return kTheta * std::pow(kFactor * times - (kFactor - 1), double{kHeadDim} / (kHeadDim - 2));
}

TEST(DynamicRope, EqualsALargerThetaBeyondTheModelsLength) {
  const auto scaled = model("dynamic", kTheta);
  for (int64_t length : {3, 6, 7, 13, 20}) {
    const double theta = length > kMost ? theta_at(length) : kTheta;
    const Tensor found = logits(*scaled, length).at("logits"),
                 expected = logits(*model("none", theta), length).at("logits");
    EXPECT_LT(testing::relative_error(found, expected), 1e-6) << length;  // theta is a constant in f32
  }
}

TEST(DynamicRope, ThePositionsOfABatchTellItsLength) {
  const auto scaled = model("dynamic", kTheta, true);
  const Tensor positions{DType::i32, {2, 4}, {0, 1, 2, 3, 9, 10, 11, 12}};
  const Tensor found = logits(*scaled, 4, {{"position_ids", positions}}).at("logits"),
               expected =
                   logits(*model("none", theta_at(13), true), 4, {{"position_ids", positions}}).at("logits");
  EXPECT_LT(testing::relative_error(found, expected), 1e-6);
}

TEST(DynamicRope, KernelsMatchTheEvaluator) {
  for (int64_t length : {5, 13, 20})
    testing::expect_cpu_matches(*model("dynamic", kTheta), {.symbols = {{"B", 2}, {"T", length}}});
}

}  // namespace
}  // namespace smelt
