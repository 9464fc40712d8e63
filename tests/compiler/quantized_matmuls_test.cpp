// Matmuls in f8e4m3: against the evaluator, the rounding to the bit, and what training with them refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compiler/driver/compile.h"
#include "runtime/base/error.h"
#include "tests/support/quantized_products.h"

namespace smelt {
namespace {

TEST(QuantizedMatmuls, MatchTheEvaluator) {
  testing::expect_quantized_layers_match({});
  CompileOptions narrow;
  narrow.storage = DType::bf16;
  testing::expect_quantized_layers_are_near(narrow, false, 14);
}

/// Outputs and gradients of linear layers with normal operands, 20 dB and more from those in f32.
TEST(QuantizedMatmuls, HaveTwentyDecibels) {
  const auto text = R"(parameter "w" : f32[96,64]
graph @g(%x: f32[80,64], %k: f32[80,96]) {
  %w = parameter "w" : f32[96,64]
  %y = matmul %x, %w {spec = "bc,oc->bo"} : f32[80,96]
  %p = mul %y, %k : f32[80,96]
  %loss = reduce add %p {axes = [0, 1]} : f32[]
  return loss = %loss, y = %y
})";
  const auto results = [&](bool quantized) {
    const auto module = parse_module(text);
    if (quantized) quantize_matmuls(*module, {.weights = {"*"}, .keep = {}});
    Graph& graph = *module->graphs.front();
    differentiate(graph, {.output = "loss", .wrt = {"x", "w"}, .seed = 1});
    decompose(graph, {});
    return evaluate(graph, testing::random_inputs(graph, 3, {}), testing::random_states(graph, 3, {}),
                    {.symbols = {}, .philox = {}, .round = quantized})
        .outputs;
  };
  const auto exact = results(false), rounded = results(true);
  ASSERT_GT(exact.size(), 3U);
  for (const auto& [name, value] : exact) {
    if (value.data.size() == 1) continue;
    EXPECT_GE(testing::decibels(rounded.at(name).data, value.data), 20) << name;
    EXPECT_LT(testing::decibels(rounded.at(name).data, value.data), 60) << name << " is not rounded";
  }
}

/// Activations of zeros only have products of 0; infinities and NaN show.
TEST(QuantizedMatmuls, OfSpecialValues) {
  const auto module = parse_module(R"(parameter "w" : f32[16,16]
graph @g(%x: f32[16,16]) {
  %w = parameter "w" : f32[16,16]
  %y = matmul %x, %w {spec = "bc,oc->bo"} : f32[16,16]
  return y = %y
})");
  quantize_matmuls(*module, {.weights = {"*"}, .keep = {}});
  decompose(*module->graphs.front(), {});
  const Graph& graph = *module->graphs.front();
  for (const double first : {0.0, 1e-40, 1e30, double(INFINITY), double(NAN)}) {
    Tensors inputs = testing::random_inputs(graph, 1, {});
    std::ranges::fill(inputs.at("x").data, 0.0);
    inputs.at("x").data[0] = first;
    const Tensors states = testing::random_states(graph, 1, {});
    const double y =
        evaluate(graph, inputs, states, {.symbols = {}, .philox = {}, .round = true}).outputs.at("y").data[0];
    EXPECT_EQ(std::isfinite(y), std::isfinite(first)) << first;
    EXPECT_EQ(y == 0, std::abs(first) < 1e-30) << first;
    EXPECT_TRUE(testing::differences_at(*module, {}, inputs, states).empty()) << first;
  }
}

const Description& small_llama() {
  static const Description made{Description::Kind::spec,
                                "spec.json",
                                spec_from_json(R"({"family": "llama", "vocab_size": 48, "hidden": 32,
                                    "max_positions": 16, "decoder": {"layers": 2, "heads": 2}})"),
                                nullptr,
                                Json::object(),
                                {}};
  return made;
}

CompileOptions fp8_options() {
  CompileOptions options;
  options.storage = DType::bf16, options.training.fp8 = true;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 16}};
  return options;
}

std::string refusal(const std::function<void(CompileOptions&)>& change) {
  CompileOptions options = fp8_options();
  change(options);
  try {
    compile(small_llama(), options, Stage::program);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(QuantizedMatmuls, AreRefusedByName) {
  EXPECT_EQ(refusal([](auto& o) { o.training.fp8_weights = {"*"}; }), "");
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal([](auto& o) { o.mode = Mode::infer; }), "--precision=fp8 is for training");
  has(refusal([](auto& o) { o.target = "sm_80"; }), "--precision=fp8 needs a GPU from sm_89 on");
  has(refusal([](auto& o) { o.mesh = parse_mesh("data=2"); }), "--precision=fp8 is for one rank");
  has(refusal([](auto& o) { o.training.fp8 = false, o.training.fp8_weights = {"*"}; }),
      "--fp8-weights is for --precision=fp8");
  has(refusal([](auto& o) { o.training.fp8_weights = {"nothing"}; }),
      "no parameter has a name that fits nothing");
  has(refusal([](auto&) {}), "no weight of this model is large enough");
  has(refusal([](auto& o) { o.training.fp8_weights = {"*norm*"}; }), "no weight whose name fits '*norm*'");
  has(refusal([](auto& o) { o.training.fp8_weights = {"*q_proj*"}; }), "are named together");
  has(refusal([](auto& o) { o.training.fp8 = false, o.keep_floats = {"*"}; }), "--keep-floats is for");
}

int64_t products_in_f8(const std::vector<std::string>& weights, const std::vector<std::string>& keep) {
  CompileOptions options = fp8_options();
  options.training.fp8_weights = weights, options.keep_floats = keep, options.entries = {"train_step"};
  options.target = "sm_90";
  const Compilation made = compile(small_llama(), options, Stage::program);
  int64_t count = 0;
  for (const PlanEntry& entry : made.program.entries)
    for (const Step& step : entry.steps)
      if (const auto* gemm = std::get_if<GemmStep>(&step.what)) count += gemm->dtype == DType::f8e4m3;
  return count;
}

/// Three products a matmul: of queries, keys and values together, of the attention's result, of gate and up
/// together, of down; and the head.
TEST(QuantizedMatmuls, AreThoseOfTheOptions) {
  EXPECT_EQ(products_in_f8({"*"}, {}), 3 * (2 * 4 + 1));
  EXPECT_EQ(products_in_f8({"*"}, {"lm_head*"}), 3 * 2 * 4);
}

}  // namespace
}  // namespace smelt
