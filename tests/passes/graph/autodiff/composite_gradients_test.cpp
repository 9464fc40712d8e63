// Composites: their derivative rules against dual numbers and against differentiating their decompositions.
#include "passes/graph/simplify/simplify.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

using testing::expect_gradients;
using testing::relative_error;

std::unique_ptr<Module> module_of(const std::string& parameters, const std::string& arguments,
                                  const std::string& body) {
  return parse_module("symbols B <= 4, T <= 8\n" + parameters + "graph @g(" + arguments + ") {\n" + body +
                      "}\n");
}

EvaluateOptions sizes(int64_t batch, int64_t length) {
  EvaluateOptions options;
  options.symbols = {{"B", batch}, {"T", length}};
  options.philox.seed = 7;
  return options;
}

/// Gradients with the composite's own rule equal those of its decomposition.
void expect_rule_equals_decomposition(const Graph& graph, const EvaluateOptions& options) {
  const Tensors inputs = testing::random_inputs(graph, 5, options.symbols);
  const Tensors states = testing::random_states(graph, 5, options.symbols);
  Tensors results[2];
  for (int first : {0, 1}) {
    const auto copy = graph.module().clone();
    Graph& g = *copy->find_graph(graph.name);
    if (first) decompose(g, {});
    differentiate(g, {"f", {}, 1});
    results[first] = testing::run(g, inputs, states, options).outputs;
  }
  EXPECT_LT(relative_error(results[0], results[1]), 1e-10) << print(graph);
}

struct CompositeCase {
  std::string name, parameters, arguments, body;
};

void PrintTo(const CompositeCase& c, std::ostream* out) { *out << c.name; }

std::string one_operand(const std::string& op) {
  return "  %x = parameter \"x\" : f32[3,33]\n  %y = " + op + " %x : f32[3,33]\n" +
         "  %p = mul %y, %w : f32[3,33]\n  %f = reduce add %p {axes = [0, 1]} : f32[]\n  return f = %f\n";
}
CompositeCase unary(const std::string& op) {
  return {op, "parameter \"x\" : f32[3,33]\n", "%w: f32[3,33]", one_operand(op)};
}

std::string cross_entropy_body(const std::string& attributes) {
  return "  %x = parameter \"x\" : f32[5,33]\n  %y = cross_entropy %x, %targets {" + attributes +
         "} : f32[5]\n  %p = mul %y, %w : f32[5]\n  %f = reduce add %p {axes = [0]} : f32[]\n  return f = "
         "%f\n";
}
CompositeCase criterion(const std::string& name, const std::string& attributes) {
  return {"cross_entropy_" + name, "parameter \"x\" : f32[5,33]\n", "%w: f32[5], %targets: i32[5]",
          cross_entropy_body(attributes)};
}

/// `body`: "(%score, ...) {scale = 0.5} { ... }" or the attributes alone.
CompositeCase attention(const std::string& name, int kv_heads, const std::string& body) {
  const std::string kv = "f32[B,T," + std::to_string(kv_heads) + ",3]";
  return {"attention_" + name, "parameter \"s\" : f32[]\n",
          "%q: f32[B,T,4,3], %k: " + kv + ", %v: " + kv + ", %bias: f32[4,T,T], %w: f32[B,T,4,3]",
          "  %s = parameter \"s\" : f32[]\n  %sq = broadcast %s {axes = []} : f32[B,T,4,3]\n"
          "  %sk = broadcast %s {axes = []} : " +
              kv + "\n  %q1 = mul %q, %sq : f32[B,T,4,3]\n  %k1 = mul %k, %sk : " + kv +
              "\n  %v1 = mul %v, %sk : " + kv + "\n  %y, %lse = attention %q1, %k1, %v1 " + body +
              " : f32[B,T,4,3], f32[B,4,T]\n  %p = mul %y, %w : f32[B,T,4,3]\n"
              "  %f = reduce add %p {axes = [0, 1, 2, 3]} : f32[]\n  return f = %f\n"};
}

constexpr const char* kScale = "{scale = 0.5}";
constexpr const char* kCausal = R"((%score) {scale = 0.5} {
    %t = iota {axis = 2} : i32[B,4,T,T]
    %s = iota {axis = 3} : i32[B,4,T,T]
    %seen = ge %t, %s
    %low = constant {value = -inf} : f32[B,4,T,T]
    %masked = select %seen, %score, %low
    return %masked
  })";
constexpr const char* kBias = R"((%score, %b = %bias) {scale = 0.5} {
    %everywhere = broadcast %b {axes = [1, 2, 3]} : f32[B,4,T,T]
    %sum = add %score, %everywhere
    return %sum
  })";
constexpr const char* kDropout = R"((%score) {scale = 0.5} {
    %bits = random {id = 4} : i32[B,4,T,T]
    %threshold = constant {value = 19661} : i32[B,4,T,T]
    %kept = ge %bits, %threshold
    %more = constant {value = 1.4} : f32[B,4,T,T]
    %none = constant {value = 0.0} : f32[B,4,T,T]
    %factor = select %kept, %more, %none
    return %score, %factor
  })";

CompositeCase norm(const std::string& op, bool bias) {
  return {op + (bias ? "_with_bias" : ""),
          "parameter \"x\" : f32[3,31]\nparameter \"g\" : f32[31]\nparameter \"b\" : f32[31]\n",
          "%w: f32[3,31]",
          "  %x = parameter \"x\" : f32[3,31]\n  %g = parameter \"g\" : f32[31]\n  %b = parameter \"b\" : "
          "f32[31]\n  %y = " +
              op + " %x, %g" + (bias ? ", %b" : "") +
              " {eps = 1e-05} : f32[3,31]\n  %p = mul %y, %w : f32[3,31]\n"
              "  %f = reduce add %p {axes = [0, 1]} : f32[]\n  return f = %f\n"};
}

const CompositeCase kCases[] = {
    unary("softmax"),
    unary("log_softmax"),
    unary("gelu"),
    unary("gelu_tanh"),
    unary("silu"),
    norm("layer_norm", true),
    norm("layer_norm", false),
    norm("rms_norm", false),
    criterion("plain", ""),
    criterion("ignored", "ignore_index = 2"),
    criterion("smoothed", "label_smoothing = 0.1"),
    criterion("smoothed_ignored", "label_smoothing = 0.1, ignore_index = 2"),
    attention("plain", 4, kScale),
    attention("causal", 4, kCausal),
    attention("grouped_causal", 2, kCausal),
    attention("grouped_bias", 2, kBias),
    attention("bias", 4, kBias),
    attention("dropout", 4, kDropout),
    {"linear", "parameter \"w\" : f32[7,5]\nparameter \"b\" : f32[7]\n", "%x: f32[B,T,5], %c: f32[B,T,7]",
     "  %w = parameter \"w\" : f32[7,5]\n  %b = parameter \"b\" : f32[7]\n  %y = linear %x, %w, %b : "
     "f32[B,T,7]\n"
     "  %p = mul %y, %c : f32[B,T,7]\n  %f = reduce add %p {axes = [0, 1, 2]} : f32[]\n  return f = %f\n"},
    {"embedding", "parameter \"w\" : f32[7,5]\n", "%x: i32[B,T], %c: f32[B,T,5]",
     "  %w = parameter \"w\" : f32[7,5]\n  %y = embedding %w, %x : f32[B,T,5]\n"
     "  %p = mul %y, %c : f32[B,T,5]\n  %f = reduce add %p {axes = [0, 1, 2]} : f32[]\n  return f = %f\n"},
    {"dropout", "parameter \"x\" : f32[9,33]\n", "%w: f32[9,33]",
     "  %x = parameter \"x\" : f32[9,33]\n  %y = dropout %x {p = 0.25, id = 3} : f32[9,33]\n"
     "  %p = mul %y, %w : f32[9,33]\n  %f = reduce add %p {axes = [0, 1]} : f32[]\n  return f = %f\n"},
    {"einsum", "parameter \"x\" : f32[3,3,5,2]\nparameter \"y\" : f32[5,4,6]\n", "%w: f32[4,3]",
     "  %x = parameter \"x\" : f32[3,3,5,2]\n  %y = parameter \"y\" : f32[5,4,6]\n"
     "  %e = einsum %x, %y {spec = \"iikz,kml->mi\"} : f32[4,3]\n"
     "  %p = mul %e, %w : f32[4,3]\n  %f = reduce add %p {axes = [0, 1]} : f32[]\n  return f = %f\n"},
    {"einsum_single", "parameter \"x\" : f32[3,5,2]\n", "%w: f32[2,3]",
     "  %x = parameter \"x\" : f32[3,5,2]\n  %e = einsum %x {spec = \"abc->ca\"} : f32[2,3]\n"
     "  %p = mul %e, %w : f32[2,3]\n  %f = reduce add %p {axes = [0, 1]} : f32[]\n  return f = %f\n"},
    {"einsum_elementwise", "parameter \"x\" : f32[3,5]\n", "%y: f32[5,3], %w: f32[3,5]",
     "  %x = parameter \"x\" : f32[3,5]\n  %e = einsum %x, %y {spec = \"ab,ba->ab\"} : f32[3,5]\n"
     "  %p = mul %e, %w : f32[3,5]\n  %f = reduce add %p {axes = [0, 1]} : f32[]\n  return f = %f\n"},
};

// ---- defects of LightSeq2 that must not come back

std::unique_ptr<Module> layer_norm_case() {
  const CompositeCase c = norm("layer_norm", true);
  return module_of(c.parameters, c.arguments, c.body);
}

/// Gradients of sum(w * layer_norm(x, g, b)) by x, g and b, by the formulas over rows.
Tensors layer_norm_gradients(const Tensor& x, const Tensor& gamma, const Tensor& w, double eps) {
  const int64_t rows = x.shape[0], columns = x.shape[1];
  Tensors result = {{"x", x}, {"g", gamma}, {"b", gamma}};
  std::fill(result["g"].data.begin(), result["g"].data.end(), 0);
  std::fill(result["b"].data.begin(), result["b"].data.end(), 0);
  for (int64_t r = 0; r < rows; ++r) {
    const double *row = x.data.data() + r * columns, *dy = w.data.data() + r * columns;
    const double m = static_cast<double>(columns);
    double mean = 0, variance = 0, sum = 0, product = 0;
    for (int64_t c = 0; c < columns; ++c) mean += row[c] / m;
    for (int64_t c = 0; c < columns; ++c) variance += (row[c] - mean) * (row[c] - mean) / m;
    const double inverse = 1 / std::sqrt(variance + eps);
    auto normal = [&](int64_t c) { return (row[c] - mean) * inverse; };
    for (int64_t c = 0; c < columns; ++c) {
      sum += gamma.data[c] * dy[c];
      product += gamma.data[c] * dy[c] * normal(c);
      result["g"].data[c] += dy[c] * normal(c);
      result["b"].data[c] += dy[c];
    }
    for (int64_t c = 0; c < columns; ++c)
      result["x"].data[r * columns + c] = inverse * (gamma.data[c] * dy[c] - (sum + normal(c) * product) / m);
  }
  return result;
}

void expect_layer_norm_gradients(double mean, double gamma) {
  const auto module = layer_norm_case();
  Graph& graph = *module->graphs[0];
  differentiate(graph, {"f", {}, 1});
  const Tensors inputs = testing::random_inputs(graph, 5, {});
  Tensors states = testing::random_states(graph, 6, {});
  for (double& x : states["x"].data) x += mean;
  for (double& g : states["g"].data) g *= gamma;
  const Tensors expected = layer_norm_gradients(states["x"], states["g"], inputs.at("w"), 1e-5);
  for (bool simplified : {false, true}) {
    if (simplified) simplify(graph, {});
    const Tensors actual = evaluate(graph, inputs, states, {}).outputs;
    for (const auto& [name, tensor] : expected)
      EXPECT_LT(relative_error(actual.at("grad." + name), tensor), 1e-9)
          << name << ", simplified " << simplified;
  }
}

TEST(LightSeq2Defects, LayerNormWithGammaNearZero) {
  expect_layer_norm_gradients(0, 0);
  expect_layer_norm_gradients(0, 1e-30);
}
TEST(LightSeq2Defects, LayerNormWithAMeanFarFromZero) { expect_layer_norm_gradients(1000, 1); }

TEST(LightSeq2Defects, EpsilonIsTheOneThatWasWritten) {
  auto module = parse_module(R"(
graph @g(%x: f32[1,4], %w: f32[4]) {
  %y = layer_norm %x, %w {eps = 3.0} : f32[1,4]
  return y = %y
}
)");
  const Tensors inputs = {{"x", {DType::f32, {1, 4}, {1, -1, 1, -1}}},
                          {"w", {DType::f32, {4}, {1, 1, 1, 1}}}};
  const Tensor y = testing::run(*module->graphs[0], inputs, {}).outputs.at("y");
  EXPECT_EQ(y.data, (std::vector<double>{0.5, -0.5, 0.5, -0.5}));
}

TEST(LightSeq2Defects, SoftmaxBackwardReachesTheLastRows) {
  for (const char* rows : {"1", "3", "7", "197"}) {
    const std::string type = std::string("f32[") + rows + ",33]";
    const auto module = module_of("parameter \"x\" : " + type + "\n", "%w: " + type,
                                  "  %x = parameter \"x\" : " + type + "\n  %y = softmax %x : " + type +
                                      "\n  %p = mul %y, %w : " + type +
                                      "\n  %f = reduce add %p {axes = [0, 1]} : f32[]\n  return f = %f\n");
    expect_gradients(*module->graphs[0], "f");
  }
}

class Composites : public ::testing::TestWithParam<CompositeCase> {};

TEST_P(Composites, GradientsEqualDualNumbers) {
  const CompositeCase& c = GetParam();
  const auto module = module_of(c.parameters, c.arguments, c.body);
  expect_gradients(*module->graphs[0], "f", sizes(2, 5));
  expect_gradients(*module->graphs[0], "f", sizes(1, 1), 2);
}

TEST_P(Composites, RuleEqualsDifferentiatedDecomposition) {
  const CompositeCase& c = GetParam();
  expect_rule_equals_decomposition(*module_of(c.parameters, c.arguments, c.body)->graphs[0], sizes(3, 4));
}

TEST_P(Composites, SimplifyKeepsTheGradients) {
  const CompositeCase& c = GetParam();
  const auto module = module_of(c.parameters, c.arguments, c.body);
  Graph& graph = *module->graphs[0];
  differentiate(graph, {"f", {}, 1});
  const Tensors inputs = testing::random_inputs(graph, 5, sizes(2, 3).symbols);
  const Tensors states = testing::random_states(graph, 5, sizes(2, 3).symbols);
  const Tensors expected = testing::run(graph, inputs, states, sizes(2, 3)).outputs;
  decompose(graph, {});
  const size_t before = graph.size();
  simplify(graph, {});
  testing::expect_valid(graph);
  EXPECT_LE(graph.size(), before);
  EXPECT_LT(relative_error(evaluate(graph, inputs, states, sizes(2, 3)).outputs, expected), 1e-11);
  EXPECT_FALSE(simplify(graph, {})) << print(graph);
}

INSTANTIATE_TEST_SUITE_P(All, Composites, ::testing::ValuesIn(kCases),
                         [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace smelt
