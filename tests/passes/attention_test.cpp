// Attention with masks and biases against loops over its definition, rows without any key included, and
// random bodies: the evaluator, the decomposition and the derivative rule say the same.
#include <algorithm>
#include <cmath>

#include "ir/graph/attention_body.h"
#include "passes/graph/simplify/decompose.h"
#include "runtime/base/error.h"
#include "tests/passes/support.h"
#include "tests/support/random_attention.h"

namespace smelt {
namespace {

using testing::expect_gradients;
using testing::random_tensor;

struct AttentionCase {
  const char* name;
  int64_t batch, queries, keys, heads, key_heads, width;
  bool causal, bias;
  std::vector<double> mask;  // [batch, keys]; empty: there is none
};

void PrintTo(const AttentionCase& c, std::ostream* out) { *out << c.name; }
std::string case_name(const ::testing::TestParamInfo<AttentionCase>& info) { return info.param.name; }

class MaskedAttention : public ::testing::TestWithParam<AttentionCase> {
 protected:
  MaskedAttention() {
    const AttentionCase& c = GetParam();
    Graph& graph = module_.add_graph("g");
    GraphBuilder b(graph);
    const auto parameter = [&](const char* name, Shape shape) {
      return b.parameter(Module::Parameter{name, {DType::f32, std::move(shape)}, {}, true, {}, false, false});
    };
    AttentionWriter writer(b, parameter("q", {c.batch, c.queries, c.heads, c.width}),
                           parameter("k", {c.batch, c.keys, c.key_heads, c.width}),
                           parameter("v", {c.batch, c.keys, c.key_heads, c.width}), 0.3);
    if (c.bias) writer.add(parameter("bias", {c.heads, c.queries, c.keys}));
    if (c.causal) writer.mask_future();
    if (!c.mask.empty()) writer.mask_keys(b.table(c.mask, {DType::i32, {c.batch, c.keys}}));
    Value* y = writer.finish()->result();
    b.output("y", y);
    Value* loss = b.sum(b.mul(y, b.mul(y, y)), {0, 1, 2, 3});
    b.output("f", loss);
    std::mt19937_64 random(5);
    for (const Module::Parameter& p : module_.parameters) states_[p.name] = random_tensor(p.type, {}, random);
  }

  double at(const std::string& name, std::vector<int64_t> place) const {
    const Tensor& t = states_.at(name);
    int64_t index = 0;
    for (size_t i = 0; i < place.size(); ++i) index = index * t.shape[i] + place[i];
    return t.data[static_cast<size_t>(index)];
  }

  bool sees(int64_t n, int64_t t, int64_t s) const {
    const AttentionCase& c = GetParam();
    const bool real = c.mask.empty() || c.mask[static_cast<size_t>(n * c.keys + s)] != 0;
    return real && (!c.causal || s <= t + c.keys - c.queries);
  }

  double score(int64_t n, int64_t h, int64_t t, int64_t s) const {
    const AttentionCase& c = GetParam();
    double sum = 0;
    for (int64_t d = 0; d < c.width; ++d)
      sum += at("q", {n, t, h, d}) * at("k", {n, s, h / (c.heads / c.key_heads), d});
    return 0.3 * sum + (c.bias ? at("bias", {h, t, s}) : 0);
  }

  double expected(int64_t n, int64_t t, int64_t h, int64_t d) const {
    const AttentionCase& c = GetParam();
    double total = 0, mixed = 0;
    for (int64_t s = 0; s < c.keys; ++s) {
      if (!sees(n, t, s)) continue;
      const double e = std::exp(score(n, h, t, s));
      total += e, mixed += e * at("v", {n, s, h / (c.heads / c.key_heads), d});
    }
    return total == 0 ? 0 : mixed / total;
  }

  Module module_;
  Tensors states_;
};

TEST_P(MaskedAttention, EqualsItsDefinition) {
  const AttentionCase& c = GetParam();
  Graph& graph = *module_.find_graph("g");
  for (const bool decomposed : {false, true}) {
    if (decomposed) decompose(graph, {});
    const Tensor y = evaluate(graph, {}, states_, {}).outputs.at("y");
    size_t i = 0;
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t t = 0; t < c.queries; ++t)
        for (int64_t h = 0; h < c.heads; ++h)
          for (int64_t d = 0; d < c.width; ++d, ++i)
            ASSERT_NEAR(y.data[i], expected(n, t, h, d), 1e-12) << n << " " << t << " " << h << " " << d;
  }
}

TEST_P(MaskedAttention, HasTheGradientsOfDualNumbers) { expect_gradients(*module_.find_graph("g"), "f"); }

INSTANTIATE_TEST_SUITE_P(
    All, MaskedAttention,
    ::testing::Values(
        AttentionCase{"padding_right", 2, 3, 5, 2, 2, 3, false, false, {1, 1, 1, 1, 1, 1, 1, 0, 0, 0}},
        AttentionCase{
            "padding_left_and_inside", 2, 3, 5, 2, 1, 3, false, true, {0, 0, 1, 1, 1, 1, 0, 1, 0, 1}},
        AttentionCase{"no_key_at_all", 2, 3, 5, 2, 2, 3, false, false, {0, 0, 0, 0, 0, 1, 1, 1, 1, 1}},
        AttentionCase{"causal_and_left", 2, 5, 5, 4, 2, 2, true, false, {0, 0, 1, 1, 1, 1, 0, 1, 1, 0}},
        AttentionCase{"causal_with_memory", 1, 2, 5, 1, 1, 3, true, true, {}},
        AttentionCase{"one_key", 1, 1, 1, 3, 3, 1, true, false, {1}}),
    case_name);

/// A random attention whose two results become one number.
std::unique_ptr<Module> random_attention(uint64_t seed) {
  auto module = std::make_unique<Module>();
  Graph& graph = module->add_graph("g");
  GraphBuilder b(graph);
  Node* attention = testing::RandomAttention(b, testing::small_sizes(seed), seed).write();
  Value *y = attention->result(0), *lse = attention->result(1);
  // A row without keys has an lse of -inf.
  Value* finite = b.select(b.gt(lse, b.like(lse, -100)), lse, b.like(lse, 0));
  b.output("y", y), b.output("lse", lse);
  b.output("f", b.add(b.sum(b.mul(y, b.mul(y, y)), {0, 1, 2, 3}), b.sum(b.sin(finite), {0, 1, 2})));
  return module;
}

class RandomAttentions : public ::testing::TestWithParam<uint64_t> {
 protected:
  std::unique_ptr<Module> module_ = random_attention(GetParam());
  const Graph& graph_ = *module_->graphs[0];
  EvaluateOptions options_;
  Tensors inputs_ = testing::random_inputs(graph_, GetParam(), {}, 2),
          states_ = testing::random_states(graph_, GetParam(), {});

  Tensors outputs(const Graph& graph) const { return evaluate(graph, inputs_, states_, options_).outputs; }
};

void expect_equal(const Tensors& actual, const Tensors& expected, const std::string& text) {
  for (const auto& [name, tensor] : expected)
    for (size_t i = 0; i < tensor.data.size(); ++i) {
      const double a = actual.at(name).data[i], b = tensor.data[i];
      ASSERT_TRUE(a == b || std::abs(a - b) <= 1e-9 * (1 + std::abs(b)))
          << name << i << ": " << a << " " << b << text;
    }
}

TEST_P(RandomAttentions, DecomposeToTheSame) {
  testing::expect_valid(graph_);
  const auto copy = module_->clone();
  decompose(*copy->graphs[0], {});
  testing::expect_valid(*copy->graphs[0]);
  EXPECT_EQ(testing::count(*copy->graphs[0], Op::attention), 0u);
  expect_equal(outputs(*copy->graphs[0]), outputs(graph_), print(graph_));
}

TEST_P(RandomAttentions, PrintAndParse) {
  const auto again = parse_module(print(*module_));
  EXPECT_EQ(print(*again), print(*module_));
}

TEST_P(RandomAttentions, RuleEqualsDifferentiatedDecomposition) {
  Tensors results[2];
  for (const bool decomposed : {false, true}) {
    const auto copy = module_->clone();
    Graph& graph = *copy->graphs[0];
    if (decomposed) decompose(graph, {});
    differentiate(graph, {"f", {}, 1});
    testing::expect_valid(graph);
    EXPECT_EQ(testing::count(graph, Op::attention_grad), decomposed ? 0u : 1u);
    results[decomposed ? 1 : 0] = outputs(graph);
  }
  expect_equal(results[0], results[1], print(graph_));
}

TEST_P(RandomAttentions, HaveTheGradientsOfDualNumbers) {
  const auto copy = module_->clone();
  Graph& graph = *copy->graphs[0];
  differentiate(graph, {"f", {}, 1});
  const Tensors gradients = outputs(graph);
  std::mt19937_64 random(GetParam());
  for (const Module::Parameter& parameter : module_->parameters) {
    const Tensor tangent = testing::random_tensor(parameter.type, {}, random);
    const DualEvaluation dual =
        evaluate_dual(graph_, inputs_, states_, {{parameter.name, tangent}}, options_);
    const double expected = dual.tangent.outputs.at("f").data[0];
    const double actual = testing::dot(gradients.at("grad." + parameter.name), tangent);
    EXPECT_NEAR(actual, expected, 1e-9 * (1 + std::abs(expected))) << parameter.name << print(graph);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomAttentions, ::testing::Range<uint64_t>(0, 100));

// ---- what rounding leaves

/// With a third result: of narrow heads, and of those of grouped queries.
std::unique_ptr<Module> with_rest(DType storage) {
  const std::string type(name(storage));
  const auto like = [&](const char* sizes) { return type + sizes; };
  return parse_module(
      "graph @g(%q: " + like("[2,3,4,5]") + ", %k: " + like("[2,6,2,5]") + ", %v: " + like("[2,6,2,5]") +
      ") {\n  %y, %lse, %rest = attention %q, %k, %v {rest = true, scale = 0.5} : " + like("[2,3,4,5]") +
      ", f32[2,4,3], " + like("[2,3,4,5]") + "\n  return y = %y, lse = %lse, rest = %rest\n}\n");
}

class AttentionRest : public ::testing::TestWithParam<DType> {};

TEST_P(AttentionRest, IsWhatTheTypeOfTheMeansDoesNotHold) {
  const auto module = with_rest(GetParam());
  Graph& graph = *module->graphs[0];
  testing::expect_valid(graph);
  EXPECT_EQ(print(*parse_module(print(*module))), print(*module));
  const Tensors inputs = testing::random_inputs(graph, 1, {}, 2);
  const Tensors exact = evaluate(graph, inputs, {}, {}).outputs,
                rounded = evaluate(graph, inputs, {}, {.symbols = {}, .philox = {}, .round = true}).outputs;
  const double digits = GetParam() == DType::f32 ? 0 : GetParam() == DType::bf16 ? 0x1p-17 : 0x1p-22;
  const double least = GetParam() == DType::f16 ? 0x1p-25 : 0;  // half of f16's smallest number
  double all = 0;
  for (size_t i = 0; i < exact.at("y").data.size(); ++i) {
    const double y = exact.at("y").data[i], rest = rounded.at("rest").data[i];
    EXPECT_EQ(exact.at("rest").data[i], 0);
    EXPECT_NEAR(rounded.at("y").data[i] + rest, y, digits * std::abs(y) + least);
    all += std::abs(rest);
  }
  EXPECT_EQ(all > 0, GetParam() != DType::f32);
  decompose(graph, {});
  testing::expect_valid(graph);
  expect_equal(evaluate(graph, inputs, {}, {}).outputs, exact, print(graph));
  EXPECT_EQ(graph.outputs[2].value->dtype(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionRest, ::testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(AttentionRestAttribute, IsOfAttentionAloneAndABoolean) {
  for (const char* attributes : {"rest = 1, scale = 0.5", "rest = \"yes\", scale = 0.5"}) {
    const std::string text =
        std::string("graph @g(%q: f32[2,3,4,5]) {\n  %y, %lse = attention %q, %q, %q {") + attributes +
        "}\n  return y = %y\n}\n";
    EXPECT_THROW(parse_module(text), Error) << attributes;
  }
}

// ---- what a body may not do

std::string message(const std::string& body) {
  const std::string text =
      "graph @g(%q: f32[2,3,4,5], %mask: i32[2,3]) {\n  %y, %lse = attention %q, %q, %q (%score, "
      "%m = %mask) \"a\" {scale = 0.5} {\n" +
      body + "  }\n  return y = %y\n}\n";
  const auto messages = verify(*parse_module(text));
  return messages.empty() ? "" : messages[0];
}

TEST(AttentionBody, MayNotReadOtherScores) {
  const std::string found = message(
      "    %most = reduce max %score {axes = [3]}\n    %all = broadcast %most {axes = [0, 1, 2]} : "
      "f32[2,4,3,3]\n"
      "    %less = sub %score, %all\n    return %less\n");
  for (const char* part : {"attention \"a\"", "reads other scores", "%most = reduce max %score"})
    EXPECT_NE(found.find(part), std::string::npos) << part << " in " << found;
}

TEST(AttentionBody, ReturnsScoresAndAFactor) {
  EXPECT_EQ(message("    %t = tanh %score\n    return %t, %score\n"), "");
  for (const char* body :
       {"    %t = tanh %score\n    return %t, %t, %t\n",
        "    %t = convert %score : bf16[2,4,3,3]\n    return %t\n", "    %t = tanh %score\n return\n"})
    EXPECT_THROW((void)message(body), Error) << body;
}

TEST(AttentionBody, OldAttributesAreRefused) {
  const std::string text =
      "graph @g(%q: f32[2,3,4,5]) {\n  %y, %lse = attention %q, %q, %q {scale = 0.5, causal = true}\n  "
      "return y = %y\n}\n";
  try {
    parse_module(text);
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'causal' is not known"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace smelt
