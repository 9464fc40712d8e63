// Quantisation-aware training: gradients against the evaluator and by their definition, the numbers of
// inference, and what is refused.
#include <gtest/gtest.h>

#include <functional>

#include "passes/graph/training/hidden_matrices.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/calibration.h"
#include "runtime/engine/weights/safetensors.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/support/rounded_products.h"

namespace smelt {
namespace {

using namespace testing;

std::unique_ptr<Module> differentiated(int64_t c, int64_t o) {
  auto module = rounded_layers(c, o);
  quantize_activations(*module, {.trains = true});
  differentiate(*module->graphs.front(),
                {.output = "loss_sum",
                 .wrt = {"x", "w.weight", "v.weight", "w.input_bound", "v.input_bound"},
                 .seed = 1});
  return module;
}

TEST(QuantizedActivations, MatchTheEvaluator) {
  for (const auto& [c, o] : {std::pair(32, 48), {144, 160}})
    for (const SymbolValues& sizes : rounded_sizes()) {
      SCOPED_TRACE(fmt::format("{} x {}, {} x {}", c, o, sizes.at("B"), sizes.at("T")));
      const auto module = differentiated(c, o);
      const Graph& graph = *module->graphs.front();
      const Tensors inputs = random_inputs(graph, 3, sizes);
      EXPECT_TRUE(differences_at(*module, {.symbols = sizes}, inputs, states_of_layers(graph)).empty());
    }
}

/// One matmul of ones by ones: each element of x has the gradient 16, or none and its bound has it.
TEST(QuantizedActivations, GradientsAreThoseOfTheClippedNumbers) {
  auto module = parse_module(R"(parameter "w" : f32[16,16]
parameter "v" : f32[1,16]
graph @loss(%x: f32[1,16]) {
  %w = parameter "w" : f32[16,16]
  %v = parameter "v" : f32[1,16]
  %y = matmul %x, %w {spec = "bc,oc->bo"} : f32[1,16]
  %z = matmul %y, %v {spec = "bc,oc->bo"} : f32[1,1]
  %loss = reduce add %z {axes = [0, 1]} : f32[]
  return loss = %loss
})");
  quantize_activations(*module, {.trains = true});
  Graph& graph = *module->graphs.front();
  differentiate(graph, {.output = "loss", .wrt = {"x", "w", "w.input_bound"}, .seed = 1});
  decompose(graph, {});
  Tensors inputs = random_inputs(graph, 1, {}), states = random_states(graph, 1, {});
  for (const char* name : {"w", "v"}) std::ranges::fill(states.at(name).data, 1);
  states.at("w.input_bound").data = {2};
  auto& x = inputs.at("x").data;
  std::ranges::fill(x, 1);
  x[0] = 3, x[1] = -5, x[2] = 2, x[3] = -2, x[4] = 2.5;  // above, below, at the bounds, above
  const Tensors outputs = evaluate(graph, inputs, states, {.symbols = {}, .philox = {}}).outputs;
  const auto gradient = [&](const char* of) { return outputs.at("grad." + std::string(of)).data; };
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(gradient("x")[i], i == 0 || i == 1 || i == 4 ? 0 : 16) << i;
  EXPECT_EQ(gradient("w.input_bound")[0], 16 - 16 + 16);
  EXPECT_NEAR(gradient("w")[0], 2, 1e-12);
  EXPECT_NEAR(gradient("w")[1], -2, 1e-12);
  EXPECT_NEAR(gradient("w")[5], 64 * 2.0 / 127, 1e-12);
}

TEST(QuantizedActivations, WeightsAreHiddenMatrices) {
  const auto module = rounded_layers(32, 48);
  quantize_activations(*module, {.trains = true});
  EXPECT_EQ(hidden_matrices(*module->graphs.front()), (std::vector<std::string>{"w.weight", "v.weight"}));
}

TEST(QuantizedActivations, ProductsOfBytesAreExact) {
  for (const auto& [n, k] : {std::pair(1, 1), {7, 5}, {33, 31}, {64, 64}, {200, 1100}})
    expect_exact_byte_products({}, n, k);
}

struct Results {
  Tensors outputs;
  Plan plan;
};

/// Runs the entry @loss of a plan.
Results results_of(const Module& module, CompileOptions options, const SymbolValues& sizes,
                   const std::function<void(Tensors&, Tensors&)>& change = {}) {
  auto training = module.clone();
  quantize_activations(*training, {.trains = true});
  const Graph& graph = *training->graphs.front();
  Tensors inputs = random_inputs(graph, 3, sizes), states = states_of_layers(graph);
  if (change) change(inputs, states);
  options.qat = Qat::int8;
  Results results;
  results.plan = compile(module.clone(), options).plan;
  Session session = cpu_session(results.plan);
  for (const State& state : results.plan.states) {
    if (state.role != Role::parameter || !state.scales_of.empty() || !state.copy_of.empty()) continue;
    for (const Segment& part : state.segments) {
      const std::vector<double>& data = states.at(part.name).data;
      session.write_segment(state.name, part.name, std::vector<float>(data.begin(), data.end()));
    }
  }
  const char* entry = options.mode == Mode::train ? "evaluate" : "loss";
  results.outputs = run_entry(session, entry, {}, inputs);
  return results;
}

/// An update may drive a bound below 0: what was trained is loaded all the same.
TEST(QuantizedActivations, BoundsBelowTheLeastAreRaisedInBothModes) {
  const auto module = rounded_layers(32, 48);
  CompileOptions training, inference;
  inference.mode = Mode::infer;
  const SymbolValues sizes{{"B", 2}, {"T", 5}};
  for (const double bound : {0.0, -1.0, 1e-12}) {
    const auto change = [&](Tensors&, Tensors& states) { states.at("w.input_bound").data = {bound}; };
    const auto bytes = results_of(*module, inference, sizes, change).outputs.at("y"),
               floats = results_of(*module, training, sizes, change).outputs.at("y");
    EXPECT_TRUE(std::ranges::all_of(bytes.data, [](double y) { return std::isfinite(y); }));
    EXPECT_LE(relative_error(bytes, floats), 1e-6) << bound;
  }
}

/// Up to 1,040 terms, training's sums of f32 are exact, too.
TEST(QuantizedActivations, InferenceHasTheNumbersOfTraining) {
  const auto module = rounded_layers(144, 160);
  CompileOptions training, inference;
  inference.mode = Mode::infer;
  for (const SymbolValues& sizes : rounded_sizes()) {
    const Results bytes = results_of(*module, inference, sizes),
                  floats = results_of(*module, training, sizes);
    EXPECT_EQ(bytes.plan.find_state("parameters.i8")->segments.size(), 2U);
    EXPECT_LE(relative_error(bytes.outputs.at("y"), floats.outputs.at("y")), 1e-6);
  }
}

TEST(QuantizedActivations, ZerosStayZerosAndInfinitiesAreClipped) {
  const auto module = rounded_layers(32, 48);
  CompileOptions inference;
  inference.mode = Mode::infer;
  const SymbolValues sizes{{"B", 1}, {"T", 1}};
  const auto y_of = [&](double x) {
    return results_of(*module, inference, sizes,
                      [&](Tensors& inputs, Tensors&) { std::ranges::fill(inputs.at("x").data, x); })
        .outputs.at("y")
        .data;
  };
  EXPECT_EQ(y_of(INFINITY), y_of(1.25));
  EXPECT_EQ(y_of(-1e30), y_of(-1.25));
  EXPECT_EQ(y_of(1e-40), y_of(0));
  EXPECT_EQ(y_of(NAN), y_of(0)) << "a byte is no NaN";
}

TEST(QuantizedActivations, BoundsOfNoUseAreNamed) {
  const TemporaryDirectory directory;
  const auto module = rounded_layers(32, 48);
  CompileOptions options;
  options.mode = Mode::infer, options.qat = Qat::int8;
  Session session = cpu_session(compile(module->clone(), options).plan);
  session.initialize();
  for (const float bound : {NAN, INFINITY}) {
    const auto file = directory.path() / "model.safetensors";
    session.write_segment("parameters", "v.input_bound", std::span(&bound, 1));
    session.save_weights(file);
    try {
      session.load_weights(file);
      ADD_FAILURE() << bound;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'v.input_bound' is"), std::string::npos) << error.what();
    }
  }
}

TEST(QuantizedActivations, KeptWeightsStayFloatsWhereBoundsAreStored) {
  const auto bounds_of = [](const std::vector<std::string>& keep) {
    CompileOptions options;
    options.mode = Mode::infer, options.qat = Qat::int8, options.keep_floats = keep;
    options.qat_bounds = {"w.input_bound", "v.input_bound"};
    const Plan plan = compile(rounded_layers(32, 48), options).plan;
    return plan.find_state("parameters.i8")->segments.size();
  };
  EXPECT_EQ(bounds_of({}), 2U);
  EXPECT_EQ(bounds_of({"w*"}), 1U);
  EXPECT_THROW(bounds_of({"nothing"}), Error);
}

TEST(QuantizedActivations, FirstBoundsAreThoseOfABatch) {
  const auto module = rounded_layers(32, 48);
  CompileOptions options;
  options.qat = Qat::int8;
  Session session = cpu_session(compile(module->clone(), options).plan);
  session.initialize();
  std::vector<float> x(3 * 32, 0.5F);
  x[7] = -2.5F;
  const float kept = 3;
  const InputTensor input{"x", DType::f32, {1, 3, 32}, x.data()};
  EXPECT_EQ(calibrate_bounds(session, std::span(&input, 1)), 1) << "zeros have no largest magnitude";
  EXPECT_EQ(session.read_segment("parameters", "w.input_bound")[0], 2.5F);
  EXPECT_EQ(session.read_segment("parameters", "v.input_bound")[0], 16);
  session.write_segment("parameters", "w.input_bound", std::span(&kept, 1));
  calibrate_bounds(session, std::span(&input, 1));
  EXPECT_EQ(session.read_segment("parameters", "w.input_bound")[0], 3);
}

std::string qat_refusal(const std::function<void(CompileOptions&)>& change) {
  CompileOptions options;
  options.qat = Qat::int8;
  change(options);
  try {
    compile(rounded_layers(32, 48), options, Stage::program);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(QuantizedActivations, AreRefusedByName) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  EXPECT_EQ(qat_refusal([](auto&) {}), "");
  has(qat_refusal([](auto& o) { o.training.fp8 = true, o.storage = DType::bf16; }), "both round products");
  has(qat_refusal([](auto& o) { o.mode = Mode::infer, o.weight_type = WeightType::int8; }),
      "--weight-type=float");
  has(qat_refusal([](auto& o) { o.mesh = parse_mesh("data=2"); }), "--qat=int8 is for one rank");
  has(qat_refusal([](auto& o) { o.keep_floats = {"nothing"}; }), "no parameter has a name that fits nothing");
  has(qat_refusal([](auto& o) { o.keep_floats = {"*.weight"}; }),
      "no weight of this model can be multiplied in int8");
}

}  // namespace
}  // namespace smelt
