// attention and attention_grad from their definitions, one query at a time.
#include <limits>

#include "ir/analysis/attention_form.h"
#include "ir/evaluate/evaluate_ops.h"
#include "ir/graph/body.h"

namespace smelt::evaluation {
namespace {

/// The extents of q[bthd], k[bskd], v[bskd] and how their elements are found.
template <typename S>
struct Heads {
  explicit Heads(const Call<S>& call)
      : q(call.operand(0)),
        k(call.operand(1)),
        v(call.operand(2)),
        scale(call.node.get(attr::scale)),
        key_scales(reads_codes(call.node) ? &call.operand(3) : nullptr),
        value_scales(reads_codes(call.node) ? &call.operand(4) : nullptr) {}

  const Array<S>&q, &k, &v;
  double scale;
  const Array<S>*key_scales,
      *value_scales;  // of codes, one a head of a key or value; null: k and v are numbers
  int64_t batch = q.shape[0], queries = q.shape[1], heads = q.shape[2], width = q.shape[3];
  int64_t keys = k.shape[1], key_heads = k.shape[2], value_width = v.shape[3];

  Sizes scores() const { return {batch, heads, queries, keys}; }
  int64_t query(int64_t b, int64_t t, int64_t h) const { return (b * queries + t) * heads + h; }
  int64_t key(int64_t b, int64_t s, int64_t h) const {
    return (b * keys + s) * key_heads + h / (heads / key_heads);
  }
  int64_t row(int64_t b, int64_t h, int64_t t) const { return (b * heads + h) * queries + t; }

  template <typename F>
  void each_query(F f) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = 0; t < queries; ++t) f(b, h, t);
  }
};

template <typename S>
S dot(const S* a, const S* b, int64_t count) {
  S sum(0);
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

template <typename S>
void add_multiple(S* to, const S& factor, const S* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

/// factor * a . b for all queries and keys.
template <typename S>
Array<S> products(const Heads<S>& x, const Array<S>& a, const Array<S>& b, int64_t width, double factor) {
  Array<S> result{x.scores(), std::vector<S>(static_cast<size_t>(element_count(x.scores())), S(0))};
  x.each_query([&](int64_t n, int64_t h, int64_t t) {
    S* row = result.data.data() + x.row(n, h, t) * x.keys;
    for (int64_t s = 0; s < x.keys; ++s)
      row[s] = S(factor) *
               dot(a.data.data() + x.query(n, t, h) * width, b.data.data() + x.key(n, s, h) * width, width);
  });
  return result;
}

/// Codes become numbers: the scores of a key are multiplied by its scale.
template <typename S>
Array<S> scaled_scores(const Heads<S>& x, Array<S> scores) {
  if (!x.key_scales) return scores;
  x.each_query([&](int64_t b, int64_t h, int64_t t) {
    S* row = scores.data.data() + x.row(b, h, t) * x.keys;
    for (int64_t s = 0; s < x.keys; ++s) row[s] = row[s] * x.key_scales->data[x.key(b, s, h)];
  });
  return scores;
}

template <typename S>
bool is_masked(const S& score) {
  return score == S(-std::numeric_limits<double>::infinity());
}

/// exp(score - largest) for each key that is seen, and their sum.
template <typename S>
S exponentials(const S* scores, int64_t keys, std::vector<S>& weights, S& largest) {
  bool any = false;
  for (int64_t s = 0; s < keys; ++s)
    if (!is_masked(scores[s]) && (!any || scores[s] > largest)) largest = scores[s], any = true;
  S total(0);
  for (int64_t s = 0; s < keys; ++s) {
    weights[s] = is_masked(scores[s]) ? S(0) : math::exp(scores[s] - largest);
    total += weights[s];
  }
  return total;
}

/// The means become what is stored of them, and the last result what that leaves.
template <typename S>
void store_means(const Call<S>& call, Arrays<S>& results) {
  Array<S> exact = results[0];
  results[0] = stored(call, std::move(results[0]));
  if (call.node.result_count() < 3) return;
  for (size_t i = 0; i < exact.data.size(); ++i) exact.data[i] = exact.data[i] - results[0].data[i];
  results.push_back(stored(call, std::move(exact)));
}

template <typename S>
Arrays<S> weighted_means(const Call<S>& call, const Array<S>& scores, const Array<S>* factors) {
  const Heads<S> x(call);
  Arrays<S> results = {call.zeros(0), call.zeros(1)};
  std::vector<S> weights(static_cast<size_t>(x.keys));
  x.each_query([&](int64_t b, int64_t h, int64_t t) {
    const int64_t row = x.row(b, h, t);
    S largest(0);
    const S total = exponentials(scores.data.data() + row * x.keys, x.keys, weights, largest);
    results[1].data[row] = S(-std::numeric_limits<double>::infinity());
    if (total == S(0)) return;  // NaN stays
    results[1].data[row] = largest + math::log(total);
    for (int64_t s = 0; s < x.keys; ++s) {
      S weight = weights[s] / total * (factors ? factors->data[row * x.keys + s] : S(1));
      if (x.value_scales && !is_masked(scores.data[row * x.keys + s]))
        weight = weight * x.value_scales->data[x.key(b, s, h)];
      add_multiple(results[0].data.data() + x.query(b, t, h) * x.value_width, weight,
                   x.v.data.data() + x.key(b, s, h) * x.value_width, x.value_width);
    }
  });
  store_means(call, results);
  return results;
}

template <typename S>
Arrays<S> head_gradients(const Call<S>& call) {
  const Heads<S> x(call);
  const Array<S>& g = call.operand(3);
  const Array<S>&weights = call.operand(4), &gradients = call.operand(5);
  Arrays<S> results = {call.zeros(0), call.zeros(1), call.zeros(2)};
  for (size_t i = 6; i < call.operands.size(); ++i) results.push_back(call.operand(i));
  x.each_query([&](int64_t b, int64_t h, int64_t t) {
    const int64_t row = x.row(b, h, t) * x.keys, query = x.query(b, t, h);
    for (int64_t s = 0; s < x.keys; ++s) {
      const int64_t key = x.key(b, s, h);
      const S gradient = S(x.scale) * gradients.data[row + s];
      add_multiple(results[0].data.data() + query * x.width, gradient, x.k.data.data() + key * x.width,
                   x.width);
      add_multiple(results[1].data.data() + key * x.width, gradient, x.q.data.data() + query * x.width,
                   x.width);
      add_multiple(results[2].data.data() + key * x.value_width, weights.data[row + s],
                   g.data.data() + query * x.value_width, x.value_width);
    }
  });
  return results;
}

}  // namespace

template <typename S>
Arrays<S> evaluate_attention(const Call<S>& call) {
  const Heads<S> x(call);
  const size_t own = own_operands(call.node).size();
  if (call.operands.size() > own)
    return weighted_means(call, call.operand(own),
                          call.operands.size() > own + 1 ? call.operands[own + 1] : nullptr);
  Array<S> scores = scaled_scores(x, products(x, x.q, x.k, x.width, x.scale));
  if (call.node.body) return {std::move(scores)};
  return weighted_means<S>(call, scores, nullptr);
}

template <typename S>
Arrays<S> evaluate_attention_grad(const Call<S>& call) {
  if (call.operands.size() > 4) return head_gradients(call);
  const Heads<S> x(call);
  return {products(x, x.q, x.k, x.width, x.scale), products(x, call.operand(3), x.v, x.value_width, 1)};
}

SMELT_EVALUATE_ALL(evaluate_attention)
SMELT_EVALUATE_ALL(evaluate_attention_grad)

}  // namespace smelt::evaluation
