// The kernels of attention on this machine, compared with sums in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <ostream>
#include <random>

#include "runtime/base/half.h"
#include "runtime/base/philox.h"
#include "tests/codegen/cuda/attention/attention_on_host.h"

namespace smelt::test {
namespace {

using Half = uint16_t;
using Doubles = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Sizes {
  int64_t batch, heads, group, queries, keys, head_size;
};

/// [batch, length, heads, head size] with room between the rows, which must stay as it is.
struct Tensor {
  std::vector<Half> memory;
  int64_t length, heads, head_size, b, t, h;

  Tensor(int64_t batch, int64_t length_, int64_t heads_, int64_t head_size_)
      : length(length_), heads(heads_), head_size(head_size_), h(head_size_ + 8) {
    t = heads * h + 16, b = length * t + 8;
    memory.assign(batch * b, 0x7fc1);  // a NaN
  }
  Half& at(int64_t i, int64_t position, int64_t head, int64_t d) {
    return memory[i * b + position * t + head * h + d];
  }
  double value(int64_t i, int64_t position, int64_t head, int64_t d) {
    return from_bf16(at(i, position, head, d));
  }
  void fill(std::mt19937& engine, float spread, float mean) {
    std::normal_distribution<float> normal(mean, spread);
    for (size_t i = 0; i < memory.size(); ++i)
      if (is_element(i)) memory[i] = to_bf16(normal(engine));
  }
  bool is_element(size_t i) const {
    const int64_t in_row = static_cast<int64_t>(i) % b % t;
    return static_cast<int64_t>(i) % b < length * t && in_row < heads * h && in_row % h < head_size;
  }
};

/// What a body means, of a score at batch, head, query, key.
struct Meaning {
  std::function<double(double score, int b, int h, int t, int s)> modified;
  std::function<double(double score)> slope = [](double) { return 1.0; };  // of modified along the score
  std::function<double(int t, int s)> gradient = [](int, int) {
    return 1.0;
  };  // of modified along what is read
};

constexpr double kKept = 65536.0 / (65536 - 6553);
constexpr uint32_t kId = 41;
const Philox kRandom{1234567, 17, 3 << 16};

struct Problem {
  Sizes n;
  double scale;
  Tensor q, k, v, d_o, o, rest, dq, dk, dv;
  std::vector<float> lse, delta, bias, gradient;
  std::vector<uint32_t> random = {kRandom.seed, kRandom.step, kRandom.micro_step};
  std::vector<unsigned long long> body;

  Problem(const Sizes& sizes, float spread)
      : n(sizes),
        scale(1 / std::sqrt(static_cast<double>(n.head_size))),
        q(n.batch, n.queries, n.heads, n.head_size),
        k(n.batch, n.keys, n.heads / n.group, n.head_size),
        v(k),
        d_o(q),
        o(q),
        rest(q),
        dq(q),
        dk(k),
        dv(k),
        lse(n.batch * n.heads * n.queries, NAN),
        delta(lse),
        bias(n.heads * n.queries * n.keys),
        gradient(n.batch * n.heads * n.queries * n.keys, NAN) {
    std::mt19937 engine(static_cast<unsigned>(n.queries * 31 + n.keys));
    for (Tensor* tensor : {&q, &k, &v, &d_o}) tensor->fill(engine, tensor == &q ? spread : 1, tensor == &v);
    for (float& x : bias) x = std::normal_distribution<float>()(engine);
  }
};

struct Reference {
  Doubles o, lse, dq, dk, dv, row, column, element;
};

Reference reference(Problem& p, const Meaning& meaning, bool has_dropout) {
  const auto [B, H, group, T, S, D] = p.n;
  Reference r;
  r.o.resize(B * T * H * D), r.lse.resize(B * H * T), r.dq = r.o, r.dk.resize(B * S * H / group * D),
                                                      r.dv = r.dk;
  r.row.resize(B * H * T), r.column.resize(B * H * S), r.element.resize(H * T * S);
  for (int b = 0; b < B; ++b)
    for (int h = 0; h < H; ++h)
      for (int t = 0; t < T; ++t) {
        const int64_t row = (b * H + h) * T + t, kv = h / group;
        Doubles scores(S), weights(S), factors(S, 1.0), products(S);
        double sum = 0, delta = 0;
        for (int s = 0; s < S; ++s) {
          for (int d = 0; d < D; ++d) {
            scores[s] += p.scale * p.q.value(b, t, h, d) * p.k.value(b, s, kv, d);
            products[s] += p.d_o.value(b, t, h, d) * p.v.value(b, s, kv, d);
          }
          if (has_dropout) factors[s] = kRandom.bits(kId, row, s) >= 6553 ? kKept : 0;
          sum += weights[s] = std::exp(meaning.modified(scores[s], b, h, t, s));
        }
        r.lse[row] = std::log(sum);
        for (int s = 0; s < S; ++s) {
          weights[s] = sum > 0 ? weights[s] / sum : 0;
          delta += weights[s] * factors[s] * products[s];
        }
        p.delta[row] = static_cast<float>(delta);
        for (int s = 0; s < S; ++s) {
          const double dmodified = weights[s] * (factors[s] * products[s] - delta),
                       slope = meaning.slope(scores[s]);
          const double gradient = weights[s] > 0 ? dmodified * meaning.gradient(t, s) : 0;
          r.row[row] += gradient, r.column[(b * H + h) * S + s] += gradient,
              r.element[(h * T + t) * S + s] += gradient;
          for (int d = 0; d < D; ++d) {
            const int64_t query = ((b * T + t) * H + h) * D + d, key = ((b * S + s) * H / group + kv) * D + d;
            r.o[query] += weights[s] * factors[s] * p.v.value(b, s, kv, d);
            r.dq[query] += p.scale * dmodified * slope * p.k.value(b, s, kv, d);
            r.dk[key] += p.scale * dmodified * slope * p.q.value(b, t, h, d);
            r.dv[key] += weights[s] * factors[s] * p.d_o.value(b, t, h, d);
          }
        }
      }
  return r;
}

void expect_close(const Doubles& found, const Doubles& expected, double tolerance, const char* what) {
  double error = 0, norm = 0;
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i]) continue;  // infinities
    error += (found[i] - expected[i]) * (found[i] - expected[i]), norm += expected[i] * expected[i];
  }
  EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(norm)) << what;
}

Doubles values(Tensor& tensor) {
  Doubles all;
  for (size_t i = 0; i < tensor.memory.size(); ++i)
    if (tensor.is_element(i))
      all.push_back(from_bf16(tensor.memory[i]));
    else
      EXPECT_EQ(tensor.memory[i], 0x7fc1) << "written between rows";
  return all;
}

/// At most half a unit in the last place of o; a kernel without a rest stores none.
void expect_rest(Problem& p, bool has_rest) {
  const Doubles o = values(p.o);
  if (!has_rest) {
    EXPECT_EQ(std::ranges::count(p.rest.memory, 0x7fc1), std::ssize(p.rest.memory));
    return;
  }
  const Doubles rest = values(p.rest);
  double all = 0;
  for (size_t i = 0; i < o.size(); ++i) {
    const int exponent = o[i] == 0 ? -126 : std::ilogb(o[i]);
    ASSERT_LE(std::abs(rest[i]), std::ldexp(1, exponent - 8)) << i;
    all += std::abs(rest[i]);
  }
  EXPECT_GT(all, 0);
}

/// The mean distance of sum d_o * (o + rest) from delta, and without the rest.
struct DeltaErrors {
  double with_rest = 0, without = 0;
};
DeltaErrors delta_errors(Problem& p) {
  DeltaErrors errors;
  for (int b = 0; b < p.n.batch; ++b)
    for (int h = 0; h < p.n.heads; ++h)
      for (int t = 0; t < p.n.queries; ++t) {
        double delta = p.delta[(b * p.n.heads + h) * p.n.queries + t], rest = 0;
        for (int d = 0; d < p.n.head_size; ++d) {
          delta -= p.d_o.value(b, t, h, d) * p.o.value(b, t, h, d);
          rest += p.d_o.value(b, t, h, d) * p.rest.value(b, t, h, d);
        }
        errors.without += std::abs(delta), errors.with_rest += std::abs(delta - rest);
      }
  return errors;
}

struct HostCall {
  void* const* pointers;
  const long long* sizes;
  float scale;
  const unsigned long long* body;
};

int64_t blocks_of(const MmaAttention& attention, const Sizes& n) {
  const auto tiles = [&](int64_t extent, int64_t tile) { return (extent + tile - 1) / tile; };
  const int rows = attention.tiles.rows();
  switch (attention.part) {
    case AttentionPart::key_gradients:
      return n.batch * (n.heads / n.group) * tiles(n.keys, rows) * attention.tiles.parts;
    case AttentionPart::element_gradient:  // the batch is summed
      return n.heads * tiles(n.queries, rows) * tiles(n.keys, attention.tiles.columns);
    default:
      return n.batch * n.heads * tiles(n.queries, rows);
  }
}

void run(const SharedObject& object, const MmaAttention& attention, Problem& p, std::vector<void*> pointers,
         const std::vector<const Tensor*>& matrices, const char* name) {
  std::vector<long long> sizes = {p.n.batch, p.n.heads, p.n.group, p.n.queries, p.n.keys};
  for (const Tensor* matrix : matrices)
    for (const int64_t stride : {matrix->b, matrix->t, matrix->h}) sizes.push_back(stride);
  const HostCall call{pointers.data(), sizes.data(), static_cast<float>(p.scale), p.body.data()};
  const int64_t blocks = blocks_of(attention, p.n);
  for (int64_t i = 0; i < blocks; ++i)
    reinterpret_cast<void (*)(const HostCall*, unsigned, unsigned)>(object.symbol(name))(
        &call, static_cast<unsigned>(i), static_cast<unsigned>(blocks));
}

struct Case {
  const char* body;
  Sizes sizes;
  AttentionTiles forward, keys, queries;
  int vector = 8;
  float spread = 1;  // of the scores: where it is large, maxima grow by much from tile to tile
  bool has_rest = true;
  int part_keys = 0;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.body; }

unsigned long long address(const void* p) { return reinterpret_cast<unsigned long long>(p); }

/// What the body of this name means, and its arguments.
Meaning meaning_of(const std::string& body, Problem& p) {
  const int shift = static_cast<int>(p.n.keys - p.n.queries), window = 9;
  const int64_t T = p.n.queries, S = p.n.keys;
  if (body == "window") {
    p.body = {static_cast<unsigned long long>(shift), window};
    return {[=](double score, int, int, int t, int s) {
      return t + shift >= s && t + shift - s < window ? score : -kInfinity;
    }};
  }
  if (body == "cap") {
    static const float cap = 3;
    p.body = {address(p.bias.data()), static_cast<unsigned long long>(shift), address(&cap)};
    const auto distance = [=](int t, int s) { return std::abs(t + shift - s); };
    return {[=, &p](double score, int, int h, int t, int s) {
              return 3 * std::tanh(score / 3) - p.bias[h] * distance(t, s);
            },
            [](double score) { return 1 - std::pow(std::tanh(score / 3), 2); },
            [=](int t, int s) { return -distance(t, s); }};
  }
  if (body == "key_bias") {
    p.body = {address(p.bias.data()), static_cast<unsigned long long>(S)};
    return {[=, &p](double score, int b, int, int, int s) { return score + p.bias[b * S + s]; }};
  }
  if (body == "bias_dropout") {
    p.body = {address(p.bias.data()), static_cast<unsigned long long>(T * S),
              static_cast<unsigned long long>(S), address(p.random.data()), kId};
    return {[=, &p](double score, int, int h, int t, int s) { return score + p.bias[(h * T + t) * S + s]; }};
  }
  p.body = {static_cast<unsigned long long>(shift), address(p.random.data()), kId};  // causal_dropout
  return {[=](double score, int, int, int t, int s) { return t + shift >= s ? score : -kInfinity; }};
}

class AttentionOnHost : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionOnHost, IsTheReference) {
  const Case& c = GetParam();
  const BodyText& body = body_named(c.body);
  Problem p(c.sizes, c.spread);
  const Meaning meaning = meaning_of(c.body, p);
  const auto with = [&](AttentionPart part, const AttentionTiles& tiles) {
    return MmaAttention{.part = part,
                        .head_size = p.n.head_size,
                        .vector = c.vector,
                        .tiles = tiles,
                        .hooks = hooks_of(body),
                        .has_rest = c.has_rest,
                        .keeps_batch = false,
                        .part_keys = c.part_keys};
  };
  const MmaAttention forward = with(AttentionPart::forward, c.forward),
                     keys = with(AttentionPart::key_gradients, c.keys),
                     queries = with(AttentionPart::query_gradients, c.queries),
                     element =
                         with(AttentionPart::element_gradient, {.row_tiles = 1, .columns = 32, .chunk = 32});
  const SharedObject object(compile_text_on_host(
      kHostDevice + host_text(forward, body, "forward") + host_text(keys, body, "keys") +
      host_text(queries, body, "queries") + (body.element > 0 ? host_text(element, body, "element") : "")));

  const Reference expected = reference(p, meaning, !body.factor.empty());
  const auto data = [](auto& memory) { return static_cast<void*>(memory.data()); };
  std::vector<void*> inputs = {data(p.q.memory), data(p.k.memory), data(p.v.memory)};
  run(object, forward, p,
      {inputs[0], inputs[1], inputs[2], data(p.o.memory), data(p.rest.memory), data(p.lse)},
      {&p.q, &p.k, &p.v, &p.o, &p.rest}, "forward");
  expect_close(values(p.o), expected.o, 4e-3, "o");
  expect_rest(p, c.has_rest);
  if (c.has_rest) {
    const DeltaErrors errors = delta_errors(p);
    EXPECT_LT(errors.with_rest, 0.5 * errors.without);
  }
  expect_close({p.lse.begin(), p.lse.end()}, expected.lse, 1e-5, "lse");

  for (void* input : {data(p.d_o.memory), data(p.lse), data(p.delta)}) inputs.push_back(input);
  const auto run_with = [&](const MmaAttention& part, const std::vector<void*>& results,
                            const std::vector<Tensor*>& more, const char* name) {
    std::vector<void*> pointers = inputs;
    std::vector<const Tensor*> matrices = {&p.q, &p.k, &p.v, &p.d_o};
    pointers.insert(pointers.end(), results.begin(), results.end());
    matrices.insert(matrices.end(), more.begin(), more.end());
    run(object, part, p, pointers, matrices, name);
  };
  run_with(keys, {data(p.dk.memory), data(p.dv.memory), data(p.gradient)}, {&p.dk, &p.dv}, "keys");
  expect_close(values(p.dk), expected.dk, 1e-2, "dk");
  expect_close(values(p.dv), expected.dv, 1e-2, "dv");
  const auto gradient_is = [&](const Doubles& wanted, const char* what) {
    expect_close({p.gradient.begin(), p.gradient.begin() + wanted.size()}, wanted, 1e-5, what);
  };
  if (body.column > 0) gradient_is(expected.column, "column gradient");
  run_with(queries, {data(p.dq.memory), data(p.gradient)}, {&p.dq}, "queries");
  expect_close(values(p.dq), expected.dq, 1e-2, "dq");
  if (body.row > 0) gradient_is(expected.row, "row gradient");
  if (body.element == 0) return;
  run_with(element, {data(p.gradient)}, {}, "element");
  gradient_is(expected.element, "element gradient");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, AttentionOnHost,
    ::testing::Values(
        Case{"causal_dropout", {2, 2, 2, 37, 73, 40}, {2, 2, 32}, {2, 2, 32, 32}, {2, 2, 32, 32}, 8, 8},
        Case{"causal_dropout", {1, 2, 1, 70, 31, 64}, {4, 1, 32}, {4, 1, 32, 32}, {2, 1, 64, 64}},
        Case{"window", {1, 2, 1, 33, 65, 17}, {2, 1, 32}, {1, 2, 32, 16}, {1, 2, 32, 32}, 1, 1, false},
        Case{"cap", {1, 4, 2, 20, 35, 12}, {2, 1, 32}, {2, 1, 16, 16}, {2, 1, 32, 32}, 4},
        Case{"key_bias", {2, 2, 2, 35, 20, 80}, {2, 1, 32}, {2, 1, 32, 16, 1, 2}, {2, 1, 32, 32}},
        Case{"bias_dropout", {2, 2, 1, 35, 67, 6}, {2, 2, 32}, {1, 2, 16, 16}, {2, 1, 64, 32}, 2},
        Case{"causal_dropout",
             {2, 2, 2, 37, 273, 40},
             {2, 2, 64},
             {2, 2, 32, 32},
             {2, 2, 32, 32},
             8,
             8,
             true,
             128},
        Case{"window", {1, 2, 1, 33, 365, 17}, {2, 1, 64}, {1, 2, 32, 16}, {1, 2, 32, 32}, 1, 1, false, 128},
        Case{"key_bias",
             {2, 2, 2, 35, 140, 80},
             {2, 1, 64},
             {2, 1, 32, 16, 1, 2},
             {2, 1, 32, 32},
             8,
             1,
             true,
             128},
        Case{"bias_dropout",
             {2, 2, 1, 35, 167, 6},
             {1, 2, 64},
             {1, 2, 16, 16},
             {2, 1, 64, 32},
             2,
             1,
             true,
             128}),
    [](const auto& info) { return fmt::format("{}_{}", info.param.body, info.index); });

}  // namespace
}  // namespace smelt::test
