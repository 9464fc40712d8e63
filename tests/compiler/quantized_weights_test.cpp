// Plans whose weights are bytes: they compute what the float64 evaluator makes of the quantised weights, and
// are off from the weights that were given by no more than is promised.
#include "compiler/driver/compile.h"
#include "cpu_against_evaluator.h"
#include "frontend/description.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::testing {
namespace {

constexpr const char* kProduct = R"(symbols B <= 64
parameter "w" : f32[33,31]
graph @g(%x: f32[B,31]) {
  %w = parameter "w" : f32[33,31]
  %y = matmul %x, %w {spec = "bc,oc->bo"} : f32[B,33]
  return y = %y
}
)";

constexpr const char* kTied = R"(symbols B <= 64
parameter "table" : f32[37,19]
parameter "q" : f32[19,19]
parameter "k" : f32[7,19]
parameter "bias" : f32[19]
graph @g(%i: i32[B] {below = 37}) {
  %t = parameter "table" : f32[37,19]
  %x = gather %t, %i {axis = 0} : f32[B,19]
  %q = parameter "q" : f32[19,19]
  %k = parameter "k" : f32[7,19]
  %a = matmul %x, %q {spec = "bc,oc->bo"} : f32[B,19]
  %b = parameter "bias" : f32[19]
  %c = broadcast %b {axes = [1]} : f32[B,19]
  %d = add %a, %c : f32[B,19]
  %e = matmul %k, %x {spec = "oc,bc->ob"} : f32[7,B]
  %f = tanh %d : f32[B,19]
  %y = matmul %f, %t {spec = "bc,oc->bo"} : f32[B,37]
  return y = %y, e = %e
}
)";

struct Ran {
  Tensors inputs, states, stored, outputs;  // stored: what the bytes stand for
};

/// Writes the weights and reads back what is kept of them.
void write_weights(Session& session, Ran& ran) {
  for (const State& state : session.plan().states) {
    if (!state.scales_of.empty()) continue;
    for (const Segment& part : state.segments) {
      const std::vector<double>& data = ran.states.at(part.name).data;
      session.write_segment(state.name, part.name, std::vector<float>(data.begin(), data.end()));
      const std::vector<float> back = session.read_segment(state.name, part.name);
      ran.stored[part.name] = ran.states.at(part.name);
      ran.stored[part.name].data.assign(back.begin(), back.end());
    }
  }
}

Ran run_quantized(const Module& module, int64_t rows, DType storage) {
  Ran ran;
  const Graph& graph = *module.graphs.front();
  const SymbolValues symbols{{"B", rows}};
  ran.inputs = random_inputs(graph, 1, symbols), ran.states = random_states(graph, 1, symbols);
  round_to_type(ran.inputs), round_to_type(ran.states);
  CompileOptions options;
  options.mode = Mode::infer, options.storage = storage, options.weight_type = WeightType::int8;
  Session session = cpu_session(compile(module.clone(), options).plan);
  write_weights(session, ran);
  ran.outputs = run_entry(session, "g", {}, ran.inputs);
  return ran;
}

Tensors evaluated(const Module& module, int64_t rows, const Tensors& inputs, const Tensors& states) {
  return evaluate(*module.graphs.front(), inputs, states, {.symbols = {{"B", rows}}, .philox = {}}).outputs;
}

/// Up to 32 rows read bytes, more widen them first.
constexpr int64_t kRows[] = {1, 3, 17, 32, 33};

class QuantizedWeights : public ::testing::TestWithParam<DType> {};

TEST_P(QuantizedWeights, AreMultipliedAndReadAsTheNumbersThatTheyStandFor) {
  const double bound = GetParam() == DType::f32 ? 1e-5 : GetParam() == DType::f16 ? 5e-3 : 2e-2;
  const auto module = parse_module(kTied);
  for (const int64_t rows : kRows) {
    const Ran ran = run_quantized(*module, rows, GetParam());
    for (const auto& [name, reference] : evaluated(*module, rows, ran.inputs, ran.stored))
      EXPECT_LE(relative_error(ran.outputs.at(name), reference), bound) << name << " of " << rows;
  }
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedWeights, ::testing::Values(DType::f32, DType::bf16, DType::f16));

TEST(QuantizedProduct, IsOffByHalfAScaleTimesTheSumOfMagnitudes) {
  const auto module = parse_module(kProduct);
  for (const int64_t rows : kRows) {
    const Ran ran = run_quantized(*module, rows, DType::f32);
    const std::vector<double>&x = ran.inputs.at("x").data, &w = ran.states.at("w").data;
    const Tensor expected = evaluated(*module, rows, ran.inputs, ran.states).at("y");
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < 33; ++j) {
        double largest = 0, sum = 0;
        for (int64_t k = 0; k < 31; ++k) {
          largest = std::max(largest, std::abs(w[static_cast<size_t>(j * 31 + k)]));
          sum += std::abs(x[static_cast<size_t>(i * 31 + k)]);
        }
        const auto at = static_cast<size_t>(i * 33 + j);
        ASSERT_LE(std::abs(ran.outputs.at("y").data[at] - expected.data[at]),
                  largest / 127 * sum * (0.5 + 1e-4));
      }
  }
}

TEST(QuantizedProduct, KeepsItsWeightsAsBytes) {
  CompileOptions options;
  options.mode = Mode::infer, options.weight_type = WeightType::int8;
  const Plan plan = compile(parse_module(kProduct), options).plan;
  ASSERT_NE(plan.find_state("parameters.i8"), nullptr);
  EXPECT_EQ(plan.find_state("parameters.i8")->dtype, DType::i8);
  EXPECT_EQ(plan.find_state("parameters.i8.scales")->scales_of, "parameters.i8");
}

TEST(QuantizedProduct, IsNotTrained) {
  CompileOptions options;
  options.weight_type = WeightType::int8;
  EXPECT_THROW(compile(parse_module(kProduct), options), Error);
}

/// The weights that a quantised model holds, saved and loaded as floats, give the same logits.
TEST(QuantizedModel, GivesTheLogitsOfItsWeightsAsFloats) {
  const std::filesystem::path golden = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2";
  const TemporaryDirectory directory;
  const auto session = [&](bool int8, const std::filesystem::path& weights) {
    CompileOptions options;
    options.mode = Mode::infer, options.weight_type = int8 ? WeightType::int8 : WeightType::floats,
    options.entries = {"logits"};
    Session made = cpu_session(compile(read_description(golden), options).plan);
    made.load_weights(weights);
    return made;
  };
  Session quantized = session(true, golden), original = session(false, golden);
  const std::filesystem::path saved = directory.path() / "floats.safetensors";
  quantized.save_weights(saved);
  Session floats = session(false, saved);
  const Tensors inputs{{"input_ids", {DType::i32, {2, 5}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3}}}};
  const Tensor logits = run_entry(quantized, "logits", {}, inputs).at("logits");
  EXPECT_LE(relative_error(logits, run_entry(floats, "logits", {}, inputs).at("logits")), 1e-5);
  const double change = relative_error(logits, run_entry(original, "logits", {}, inputs).at("logits"));
  EXPECT_GT(change, 1e-5);
  EXPECT_LE(change, 3e-2);
}

}  // namespace
}  // namespace smelt::testing
