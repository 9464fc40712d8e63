// Decompositions against plain loops.
#include "passes/graph/simplify/decompose.h"

#include "ir/graph/attention_body.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

struct Built {
  Module module;
  Graph* graph = &module.add_graph("g");
  GraphBuilder b{*graph};

  Tensor run(const Tensors& inputs) {
    decompose(*graph, {});
    testing::expect_valid(*graph);
    for (const auto& node : graph->nodes()) EXPECT_FALSE(info(node->op()).has(Trait::composite));
    return evaluate(*graph, inputs, {}, {}).outputs.at("y");
  }
};

Tensor random(std::vector<int64_t> shape, uint64_t seed, DType dtype = DType::f32, int64_t limit = 5) {
  std::mt19937_64 generator(seed);
  return testing::random_tensor({dtype, {shape.begin(), shape.end()}}, {}, generator, limit);
}

Type type_of(const Tensor& tensor) { return {tensor.dtype, {tensor.shape.begin(), tensor.shape.end()}}; }

TEST(Decompose, LayerNormWithAMeanFarFromZero) {
  for (int64_t columns : {1, 3, 33, 197}) {
    Tensor x = random({5, columns}, 1), w = random({columns}, 2), bias = random({columns}, 3);
    for (double& v : x.data) v += 1000;
    Built g;
    Value* y =
        g.b.create(Op::layer_norm,
                   {g.b.input("x", type_of(x)), g.b.input("w", type_of(w)), g.b.input("b", type_of(bias))},
                   {attr::eps(1e-5)})
            ->result();
    g.b.output("y", y);
    const Tensor actual = g.run({{"x", x}, {"w", w}, {"b", bias}});
    Tensor expected = x;
    for (int64_t r = 0; r < 5; ++r) {
      double* row = expected.data.data() + r * columns;
      double mean = 0, variance = 0;
      for (int64_t c = 0; c < columns; ++c) mean += row[c] / static_cast<double>(columns);
      for (int64_t c = 0; c < columns; ++c)
        variance += (row[c] - mean) * (row[c] - mean) / static_cast<double>(columns);
      for (int64_t c = 0; c < columns; ++c)
        row[c] = (row[c] - mean) / std::sqrt(variance + 1e-5) * w.data[c] + bias.data[c];
    }
    EXPECT_LT(testing::relative_error(actual, expected), 1e-9) << columns;
  }
}

/// A diagonal of x, a letter of each side summed alone, and the result's letters in another order.
TEST(Decompose, EinsumOfTheBuilder) {
  const Tensor x = random({3, 3, 5, 2}, 1), y = random({5, 4, 6}, 2);
  Built g;
  Value* e = g.b.einsum({g.b.input("x", type_of(x)), g.b.input("y", type_of(y))}, "iikz,kml->mi");
  g.b.output("y", e);
  const Tensor actual = g.run({{"x", x}, {"y", y}});
  Tensor expected{DType::f32, {4, 3}, std::vector<double>(12)};
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t k = 0; k < 5; ++k)
      for (int64_t z = 0; z < 2; ++z)
        for (int64_t m = 0; m < 4; ++m)
          for (int64_t l = 0; l < 6; ++l)
            expected.data[m * 3 + i] += x.data[((i * 3 + i) * 5 + k) * 2 + z] * y.data[(k * 4 + m) * 6 + l];
  EXPECT_LT(testing::relative_error(actual, expected), 1e-9);
}

TEST(Decompose, SoftmaxOfLargeScores) {
  // Rows of common offsets whose exponentials are infinite, zero, and ordinary.
  const Tensor scores = random({3, 31}, 1);
  const double offsets[] = {1000, -1000, 0};
  Tensor x = scores;
  for (int64_t i = 0; i < 3 * 31; ++i) x.data[i] += offsets[i / 31];
  Built g;
  g.b.output("y", g.b.create(Op::softmax, {g.b.input("x", type_of(x))})->result());
  const Tensor y = g.run({{"x", x}});
  for (int64_t r = 0; r < 3; ++r) {
    const double* row = scores.data.data() + r * 31;
    double sum = 0;
    for (int64_t c = 0; c < 31; ++c) sum += std::exp(row[c]);
    for (int64_t c = 0; c < 31; ++c) EXPECT_NEAR(y.data[r * 31 + c], std::exp(row[c]) / sum, 1e-12);
  }
}

/// alpha spread over all classes (PyTorch) or over all but the target (fairseq).
struct Criterion {
  double alpha;
  bool others;
  bool ignore;
};

double reference_loss(const double* x, int64_t classes, int64_t target, const Criterion& c) {
  if (c.ignore && target == 2) return 0;
  double largest = x[0], sum = 0, each = 0;
  for (int64_t j = 0; j < classes; ++j) largest = std::max(largest, x[j]);
  for (int64_t j = 0; j < classes; ++j) sum += std::exp(x[j] - largest);
  const double lse = largest + std::log(sum);
  for (int64_t j = 0; j < classes; ++j) each += lse - x[j];
  const double share = c.alpha / static_cast<double>(c.others ? classes - 1 : classes);
  const double weight = c.others ? 1 - c.alpha - share : 1 - c.alpha;
  return weight * (lse - x[target]) + share * each;
}

TEST(Decompose, CrossEntropyByBothConventions) {
  for (const Criterion& c :
       {Criterion{0, false, false}, {0, false, true}, {0.1, false, true}, {0.1, true, false}}) {
    const Tensor x = random({17, 33}, 4), targets = random({17}, 5, DType::i32, 33);
    Built g;
    Attributes attributes = {attr::label_smoothing(c.others ? c.alpha * 33 / 32 : c.alpha)};
    if (c.ignore) attributes.set(attr::ignore_index, int64_t{2});
    g.b.output("y", g.b.create(Op::cross_entropy,
                               {g.b.input("x", type_of(x)), g.b.input("t", type_of(targets))}, attributes)
                        ->result());
    const Tensor y = g.run({{"x", x}, {"t", targets}});
    for (int64_t r = 0; r < 17; ++r)
      EXPECT_NEAR(y.data[r],
                  reference_loss(x.data.data() + r * 33, 33, static_cast<int64_t>(targets.data[r]), c),
                  1e-12);
  }
}

TEST(Decompose, CrossEntropyIgnoresTargetsOutsideTheClasses) {
  const Tensor x = random({2, 5}, 4), targets{DType::i32, {2}, {-100, 3}};
  Built g;
  g.b.output("y",
             g.b.create(Op::cross_entropy, {g.b.input("x", type_of(x)), g.b.input("t", type_of(targets))},
                        {attr::ignore_index(-100)})
                 ->result());
  const Tensor y = g.run({{"x", x}, {"t", targets}});
  EXPECT_EQ(y.data[0], 0);
  EXPECT_GT(y.data[1], 0);
}

/// Attention by loops; query head h reads key head h / (heads / kv_heads), and the last query sees the last
/// key.
Tensor reference_attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale, bool causal) {
  const int64_t batch = q.shape[0], queries = q.shape[1], heads = q.shape[2], width = q.shape[3];
  const int64_t keys = k.shape[1], kv_heads = k.shape[2], group = heads / kv_heads;
  Tensor out = q;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t t = 0; t < queries; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        auto at = [&](int64_t s) { return ((b * keys + s) * kv_heads + h / group) * width; };
        const int64_t place = ((b * queries + t) * heads + h) * width;
        const int64_t seen = causal ? t + 1 + keys - queries : keys;
        std::vector<double> weights;
        double sum = 0;
        for (int64_t s = 0; s < seen; ++s) {
          double score = 0;
          for (int64_t d = 0; d < width; ++d) score += q.data[place + d] * k.data[at(s) + d];
          weights.push_back(std::exp(score * scale));
          sum += weights.back();
        }
        for (int64_t d = 0; d < width; ++d) {
          out.data[place + d] = 0;
          for (int64_t s = 0; s < seen; ++s) out.data[place + d] += weights[s] / sum * v.data[at(s) + d];
        }
      }
  return out;
}

TEST(Decompose, AttentionWithGroupsAndMasks) {
  for (int64_t kv_heads : {6, 2, 1})
    for (int64_t keys : {5, 9})
      for (bool causal : {false, true}) {
        const Tensor q = random({2, 5, 6, 3}, 1), k = random({2, keys, kv_heads, 3}, 2),
                     v = random({2, keys, kv_heads, 3}, 3);
        Built g;
        AttentionWriter writer(g.b, g.b.input("q", type_of(q)), g.b.input("k", type_of(k)),
                               g.b.input("v", type_of(v)), 0.5);
        if (causal) writer.mask_future();
        g.b.output("y", writer.finish()->result());
        const Tensor y = g.run({{"q", q}, {"k", k}, {"v", v}});
        EXPECT_LT(testing::relative_error(y, reference_attention(q, k, v, 0.5, causal)), 1e-12)
            << kv_heads << " key heads, " << keys << " keys, causal " << causal;
      }
}

TEST(Decompose, DropoutKeepsTheMeanAndFollowsPhilox) {
  const Tensor x{DType::f32, {64, 197}, std::vector<double>(64 * 197, 1)};
  Built g;
  g.b.output("y",
             g.b.create(Op::dropout, {g.b.input("x", type_of(x))}, {attr::p(0.3), attr::id(5)})->result());
  decompose(*g.graph, {});
  EvaluateOptions options;
  options.philox.seed = 11;
  const Tensor y = evaluate(*g.graph, {{"x", x}}, {}, options).outputs.at("y");
  const double threshold = std::round(0.3 * 65536);
  for (uint32_t r = 0; r < 64; ++r)
    for (uint32_t c = 0; c < 197; ++c) {
      const bool keep = options.philox.bits(5, r, c) >= threshold;
      EXPECT_NEAR(y.data[r * 197 + c], keep ? 65536 / (65536 - threshold) : 0, 1e-12);
    }
}

TEST(Decompose, DropoutAtTheEnds) {
  for (double p : {0.0, 1.0}) {
    const Tensor x = random({3, 5}, 1);
    Built g;
    g.b.output("y",
               g.b.create(Op::dropout, {g.b.input("x", type_of(x))}, {attr::p(p), attr::id(0)})->result());
    EXPECT_EQ(g.run({{"x", x}}).data, p == 0 ? x.data : std::vector<double>(15, 0));
  }
}

TEST(Decompose, KeepsWhatItIsToldTo) {
  Built g;
  Value* x = g.b.input("x", {DType::f32, {3, 5}});
  g.b.output("y", g.b.create(Op::softmax, {g.b.create(Op::silu, {x})->result()})->result());
  EXPECT_TRUE(decompose(*g.graph, {{Op::softmax}}));
  EXPECT_EQ(testing::count(*g.graph, Op::softmax), 1u);
  EXPECT_EQ(testing::count(*g.graph, Op::silu), 0u);
  EXPECT_FALSE(decompose(*g.graph, {{Op::softmax}}));
}

TEST(Decompose, HandsOnSourceAndPhase) {
  Built g;
  g.b.set_source("h.0.ln_1");
  Node* node = g.b.create(Op::softmax, {g.b.input("x", {DType::f32, {3, 5}})});
  node->phase = Phase::backward;
  g.b.output("y", node->result());
  decompose(*g.graph, {});
  for (const auto& made : g.graph->nodes())
    if (!made->is(Op::input)) {
      EXPECT_EQ(made->source, "h.0.ln_1");
      EXPECT_EQ(made->phase, Phase::backward);
    }
}

TEST(Decompose, NarrowTypesKeepStatisticsInSinglePrecision) {
  Built g;
  g.b.output("y", g.b.create(Op::softmax, {g.b.input("x", {DType::bf16, {3, 5}})})->result());
  decompose(*g.graph, {});
  testing::expect_valid(*g.graph);
  EXPECT_EQ(g.graph->outputs[0].value->dtype(), DType::bf16);
  for (const auto& node : g.graph->nodes()) {
    if (node->is(Op::reduce)) {
      EXPECT_EQ(node->result()->dtype(), DType::f32);
    }
  }
}

}  // namespace
}  // namespace smelt
