// Attention with masks and biases against loops over its definition, rows without any key included.
#include <algorithm>
#include <cmath>

#include "ir/builder.h"
#include "passes/simplify/decompose.h"
#include "tests/passes/support.h"

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
    llvm::SmallVector<Value*, 5> operands = {parameter("q", {c.batch, c.queries, c.heads, c.width}),
                                             parameter("k", {c.batch, c.keys, c.key_heads, c.width}),
                                             parameter("v", {c.batch, c.keys, c.key_heads, c.width})};
    if (c.bias) operands.push_back(parameter("bias", {c.heads, c.queries, c.keys}));
    if (!c.mask.empty()) operands.push_back(b.table(c.mask, {DType::i32, {c.batch, c.keys}}));
    Value* y = b.create(Op::attention, operands, {{"scale", 0.3}, {"causal", c.causal}})->result();
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
  decompose(graph, {});
  const Tensor y = evaluate(graph, {}, states_, {}).outputs.at("y");
  size_t i = 0;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t t = 0; t < c.queries; ++t)
      for (int64_t h = 0; h < c.heads; ++h)
        for (int64_t d = 0; d < c.width; ++d, ++i)
          ASSERT_NEAR(y.data[i], expected(n, t, h, d), 1e-12) << n << " " << t << " " << h << " " << d;
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

}  // namespace
}  // namespace smelt
