// Plans whose weights are packed codes: they compute what the float64 evaluator makes of the numbers that the
// codes stand for, and sessions write and read them.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/driver/compile.h"
#include "ir/text/text.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

using testing::cpu_session;
using testing::random_inputs;
using testing::random_states;
using testing::relative_error;
using testing::run_entry;

/// Two weights of one input, which are merged; one whose rows are gathered, too; and one in another place.
constexpr const char* kPackedGraph = R"(
symbols B <= 33
parameter "a" : f32[19,64]
parameter "b" : f32[5,64]
parameter "table" : f32[37,64]
parameter "bias" : f32[19]
graph @g(%x: f32[B,64], %i: i32[B]) {
  %a = parameter "a" : f32[19,64]
  %b = parameter "b" : f32[5,64]
  %t = parameter "table" : f32[37,64]
  %bias = parameter "bias" : f32[19]
  %rows = gather %t, %i {axis = 0}
  %s = add %x, %rows
  %u = matmul %s, %a {spec = "bc,oc->bo"}
  %v = matmul %s, %b {spec = "bc,oc->bo"}
  %wide = broadcast %bias {axes = [1]} : f32[B,19]
  %y = add %u, %wide
  %z = matmul %x, %t {spec = "bc,oc->bo"}
  return y = %y, v = %v, z = %z
}
)";

struct Case {
  WeightType type;
  int64_t group;
  DType storage;
};

class PackedWeights : public ::testing::TestWithParam<Case> {
 protected:
  static CompileOptions options() {
    CompileOptions options;
    options.mode = Mode::infer, options.storage = GetParam().storage;
    options.weight_type = GetParam().type, options.weight_group = GetParam().group;
    return options;
  }
};

/// Writes the states' weights, and replaces them by those that the session has kept.
void write_weights(Session& session, Tensors& states) {
  for (const State& state : session.plan().states) {
    if (!state.scales_of.empty() || !state.zeros_of.empty()) continue;
    for (const Segment& part : state.segments) {
      std::vector<double>& data = states.at(part.name).data;
      session.write_segment(state.name, part.name, std::vector<float>(data.begin(), data.end()));
      const std::vector<float> back = session.read_segment(state.name, part.name);
      ASSERT_EQ(back.size(), data.size());
      data.assign(back.begin(), back.end());
    }
  }
}

TEST_P(PackedWeights, AreMultipliedAsTheNumbersThatTheyStandFor) {
  const double bound = GetParam().storage == DType::f32   ? 1e-5
                       : GetParam().storage == DType::f16 ? 5e-3
                                                          : 2e-2;
  const auto module = parse_module(kPackedGraph);
  const Graph& graph = *module->graphs.front();
  for (const int64_t rows : {1, 33}) {
    const SymbolValues symbols{{"B", rows}};
    const Tensors inputs = random_inputs(graph, 1, symbols);
    Tensors states = random_states(graph, 1, symbols);
    Session session = cpu_session(compile(module->clone(), options()).plan);
    write_weights(session, states);
    const Tensors outputs = run_entry(session, "g", {}, inputs);
    const auto expected = evaluate(graph, inputs, states, {.symbols = symbols, .philox = {}}).outputs;
    for (const auto& [name, reference] : expected)
      EXPECT_LE(relative_error(outputs.at(name), reference), bound) << name << " of " << rows;
  }
}

/// Within half a step of the format, relative to the largest number; in int4 a whole one, because 8 is cut to
/// 7, and zeros are rounded.
TEST_P(PackedWeights, AreNearTheFloatsOfTheirGroups) {
  const double error = GetParam().type == WeightType::fp8   ? 1.01 / 28
                       : GetParam().type == WeightType::nf4 ? 0.16
                                                            : 0.14;
  Session session = cpu_session(compile(parse_module(kPackedGraph), options()).plan);
  Tensors states = random_states(*parse_module(kPackedGraph)->graphs.front(), 7, {{"B", 1}});
  const std::vector<double> before = states.at("a").data;
  write_weights(session, states);
  const std::vector<double>& after = states.at("a").data;
  const auto group = static_cast<size_t>(GetParam().group > 0 ? GetParam().group : 64);
  for (size_t i = 0; i < before.size(); i += group) {
    double largest = 0;
    for (size_t j = i; j < i + group; ++j) largest = std::max(largest, std::abs(before[j]));
    for (size_t j = i; j < i + group; ++j) EXPECT_LE(std::abs(after[j] - before[j]), error * largest) << j;
  }
}

TEST_P(PackedWeights, KeepTablesAndBiasesAsFloats) {
  const Plan plan = compile(parse_module(kPackedGraph), options()).plan;
  const State* packed = plan.find_state("parameters.packed");
  ASSERT_NE(packed, nullptr);
  std::vector<std::string> names;
  for (const Segment& segment : packed->segments) names.push_back(segment.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(plan.find_state("parameters.packed.scales")->dtype, GetParam().storage);
  EXPECT_EQ(plan.find_state("parameters.packed.zeros") != nullptr, GetParam().type == WeightType::uint4);
}

TEST_P(PackedWeights, OfZerosAndOfNumbersThatAreNotFinite) {
  Session session = cpu_session(compile(parse_module(kPackedGraph), options()).plan);
  std::vector<float> values(size_t{19} * 64, 0.0F);
  values[64] = std::numeric_limits<float>::quiet_NaN(), values[128] = std::numeric_limits<float>::infinity();
  session.write_segment("parameters.packed", "a", values);
  const std::vector<float> back = session.read_segment("parameters.packed", "a");
  EXPECT_EQ(back[0], 0.0F);
  EXPECT_TRUE(std::isnan(back[64]));
  EXPECT_TRUE(std::isnan(back[128]));
  EXPECT_EQ(back[192], 0.0F);
}

INSTANTIATE_TEST_SUITE_P(
    All, PackedWeights,
    ::testing::Values(Case{WeightType::int4, 32, DType::f32}, Case{WeightType::int4, 64, DType::bf16},
                      Case{WeightType::uint4, 16, DType::f32}, Case{WeightType::uint4, 32, DType::f16},
                      Case{WeightType::nf4, 64, DType::f32}, Case{WeightType::nf4, 8, DType::bf16},
                      Case{WeightType::fp8, 0, DType::f32}, Case{WeightType::fp8, 16, DType::f16}));

std::string refusal(WeightType type, int64_t group, std::vector<std::string> keep = {}) {
  CompileOptions options;
  options.mode = Mode::infer, options.weight_type = type, options.weight_group = group;
  options.keep_floats = std::move(keep);
  try {
    compile(parse_module(kPackedGraph), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RefusedPackedWeights, SayWhatDoesNotFit) {
  EXPECT_NE(
      refusal(WeightType::int4, 48).find("'a' has rows of 64 elements, which groups of 48 do not divide"),
      std::string::npos);
  EXPECT_NE(refusal(WeightType::int4, 4).find("choose --weight-group (a multiple of 8)"), std::string::npos);
  EXPECT_NE(refusal(WeightType::int4, 32, {"c*"}).find("no parameter has a name that fits c*"),
            std::string::npos);
  EXPECT_NE(refusal(WeightType::floats, 32).find("--weight-group"), std::string::npos);
  EXPECT_NE(refusal(WeightType::int8, -1, {"a"}).find("--keep-floats"), std::string::npos);
  EXPECT_NE(refusal(WeightType::int4, 32, {"a"}).find("leave --weight-type out"), std::string::npos)
      << "a and b are read together";
}

TEST(KeptFloats, AreWhatThePatternsName) {
  CompileOptions options;
  options.mode = Mode::infer, options.weight_type = WeightType::int4, options.keep_floats = {"bias"};
  EXPECT_EQ(
      compile(parse_module(kPackedGraph), options).plan.find_state("parameters.packed")->segments.size(), 2u);
}

}  // namespace
}  // namespace smelt
