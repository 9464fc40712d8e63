// chunk_rows on random criteria and random training graphs: losses and gradients stay, for as many rows as
// the bounds allow and for fewer than there are chunks.
#include "passes/graph/layout/chunk_rows.h"

#include <random>

#include "passes/expressions.h"
#include "passes/graph/reductions/rewrite_reductions.h"
#include "passes/graph/simplify/simplify.h"
#include "tests/passes/support.h"
#include "tests/support/random_graph.h"

namespace smelt {
namespace {

constexpr int64_t kMostB = 4, kMostT = 9;

/// norm(a - b) / (1 + norm(b))
void expect_close(const Tensors& actual, const Tensors& expected, const Graph& graph) {
  for (const auto& [name, tensor] : expected) {
    double norm = 0, difference = 0;
    ASSERT_EQ(tensor.data.size(), actual.at(name).data.size());
    for (size_t i = 0; i < tensor.data.size(); ++i) {
      norm += tensor.data[i] * tensor.data[i];
      difference += std::pow(tensor.data[i] - actual.at(name).data[i], 2);
    }
    EXPECT_LT(std::sqrt(difference), 1e-10 * (1 + std::sqrt(norm))) << name << "\n" << print(graph);
  }
}

/// What may differ between the criteria of models, drawn at random.
class RandomCriterion {
 public:
  explicit RandomCriterion(uint64_t seed) : engine_(seed) {}

  std::unique_ptr<Module> make() {
    auto module = std::make_unique<Module>();
    module->symbols.bound({"B"}, kMostB), module->symbols.bound({"T"}, kMostT);
    GraphBuilder b(module->add_graph("g"));
    const Dim B = Dim::symbol("B"), T = Dim::symbol("T");
    const int64_t width = 1 + below(7), classes = 9 + below(40);
    Value* weight = parameter(b, "w", {classes, width});
    Value* ids = b.input("ids", {DType::i32, {B, T}});
    set_id_range(*ids->node(), {.below = static_cast<int32_t>(classes)});
    Value* x = b.mul(b.gather(coin() ? weight : parameter(b, "e", {classes, width}), ids),
                     b.input("x", {DType::f32, {B, T, width}}));
    Value* logits = head(b, x, weight, classes);
    if (coin()) logits = b.reshape(logits, {B * T, classes});
    b.output("loss", loss(b, logits));
    return module;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  bool coin() { return below(2) == 0; }

  static Value* parameter(GraphBuilder& b, const std::string& name, const Shape& shape) {
    return b.parameter(Module::Parameter{name, {DType::f32, shape}, {}, true, {}, false, false});
  }

  Value* head(GraphBuilder& b, Value* x, Value* weight, int64_t classes) {
    Value* logits = coin() ? b.matmul(x, weight, "bti,vi->btv") : b.matmul(weight, x, "vi,bti->btv");
    if (coin()) logits = b.add(logits, along_last(b, parameter(b, "b", {classes}), logits->shape()));
    if (coin()) logits = scale(b, b.tanh(logits), 3);
    return logits;
  }

  Value* loss(GraphBuilder& b, Value* logits) {
    const Shape rows(logits->shape().begin(), logits->shape().end() - 1);
    Value* labels = b.input("labels", {DType::i32, rows});
    Attributes attributes;
    if (coin()) attributes.set(attr::label_smoothing, 0.1);
    if (coin()) attributes.set(attr::ignore_index, int64_t{1});
    Value* each = b.create(Op::cross_entropy, {logits, labels}, attributes)->result();
    if (coin()) each = b.mul(each, b.input("weight", {DType::f32, rows}));
    Value* sum = b.sum(each, leading_axes(each->rank()));
    if (coin()) sum = b.add(sum, b.sum(b.mul(logits, logits), leading_axes(logits->rank())));
    if (coin()) sum = b.mul(sum, b.input("loss_scale", {DType::f32, {}}));
    return sum;
  }

  std::mt19937_64 engine_;
};

/// As in training: gradients, then reductions that do not wait for each other.
std::unique_ptr<Module> differentiated(std::unique_ptr<Module> module) {
  Graph& graph = *module->graphs[0];
  differentiate(graph, {"loss", {}, 1});
  decompose(graph, {});
  simplify(graph, {});
  rewrite_reductions(graph, {});
  simplify(graph, {});
  return module;
}

void expect_kept(const Module& before, const Module& after, uint64_t seed, const EvaluateOptions& options) {
  const Graph &whole = *before.graphs[0], &chunked = *after.graphs[0];
  const Tensors inputs = testing::random_inputs(whole, seed, options.symbols);
  const Tensors states = testing::random_states(whole, seed, options.symbols);
  expect_close(evaluate(chunked, inputs, states, options).outputs,
               evaluate(whole, inputs, states, options).outputs, chunked);
}

/// The most elements of a value that a node other than a view computes.
int64_t largest(const Graph& graph) {
  int64_t most = 0;
  for (const auto& node : graph.nodes())
    if (!info(node->op()).has(Trait::leaf) && !info(node->op()).has(Trait::view))
      for (const auto& result : node->results())
        most = std::max(most, graph.module().symbols.upper(element_count(result->shape())));
  return most;
}

class RandomCriteria : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomCriteria, KeepLossesAndGradients) {
  const uint64_t seed = GetParam();
  const auto before = differentiated(RandomCriterion(seed).make());
  const auto after = before->clone();
  std::vector<std::string> log;
  const ChunkRowsOptions options{.rows = static_cast<int64_t>(1 + seed % 17), .least_mib = 0, .log = &log};
  EXPECT_TRUE(chunk_rows(*after->graphs[0], options));
  testing::expect_valid(*after->graphs[0]);
  EXPECT_EQ(log.size(), 1u);
  const std::pair<int64_t, int64_t> sizes[] = {{kMostB, kMostT}, {1, 1}, {1, 2}, {3, 5}};
  for (const auto& [b, t] : sizes)
    expect_kept(*before, *after, seed, {.symbols = {{"B", b}, {"T", t}}, .philox = {}});
  EXPECT_FALSE(chunk_rows(*after->graphs[0], {.rows = kMostB * kMostT, .least_mib = 0}));
}

/// Six chunks of 36 rows have six each, and the last one at most five more.
TEST_P(RandomCriteria, NeverHoldTheirColumnsForAllRows) {
  const auto module = differentiated(RandomCriterion(GetParam()).make());
  Graph& graph = *module->graphs[0];
  const Shape& weight = module->find_parameter("w")->type.shape;
  const int64_t classes = *weight[0].constant(), width = *weight[1].constant();
  EXPECT_GE(largest(graph), kMostB * kMostT * classes);
  chunk_rows(graph, {.rows = 6, .least_mib = 0});
  EXPECT_LE(largest(graph), std::max({11 * classes, kMostB * kMostT * width, classes * width}))
      << print(graph);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCriteria, ::testing::Range<uint64_t>(1, 61));

class ChunkedGraphs : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ChunkedGraphs, KeepTheirResults) {
  testing::RandomGraphOptions shape;
  shape.scalar = true;
  const auto before = differentiated(testing::random_module(GetParam(), shape));
  const auto after = before->clone();
  chunk_rows(*after->graphs[0], {.rows = 1 + static_cast<int64_t>(GetParam() % 3), .least_mib = 0});
  testing::expect_valid(*after->graphs[0]);
  expect_kept(*before, *after, GetParam(), testing::random_options(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChunkedGraphs, ::testing::Range<uint64_t>(1, 121));

}  // namespace
}  // namespace smelt
