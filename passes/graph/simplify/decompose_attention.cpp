// Attention as two matmuls around its body and a softmax, and its gradient as five matmuls around its own
// body.
#include <limits>

#include "ir/analysis/attention_form.h"
#include "ir/analysis/uses.h"
#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/fusion/bodies.h"
#include "passes/graph/simplify/decompose.h"
#include "passes/graph/simplify/seen_keys.h"

namespace smelt {
namespace {

/// Low enough for a weight of exactly zero, and finite, so that a row of masked scores makes no NaN.
constexpr double masked_score = -1e30;

/// The products of an attention. Query heads that share a head of keys are an axis of their own there,
/// [b,t,k,g,d], so that no key is repeated; bodies see them as one axis [b,h,t,s].
class AttentionProducts {
 public:
  AttentionProducts(GraphBuilder& b, const Node& node)
      : b_(b), node_(node), heads_(node.operand(0)->shape()[2]), key_heads_(node.operand(1)->shape()[2]) {}

  /// factor * (x[bthd] . y[bskd]), f32[b,h,t,s].
  Value* of_heads(Value* x, Value* y, double factor) {
    b_.set_source(part("scores"));
    Value* product = b_.matmul(queries(x), y, is_grouped() ? "btkgd,bskd->bkgts" : "bthd,bshd->bhts");
    product = together(widened(b_, product), 1);
    return factor == 1 ? product : scale(b_, product, factor);
  }
  /// sum_s weights[bhts] y[bskd], [b,t,h,d].
  Value* over_keys(Value* weights, Value* y) { return over_keys(weights, y, y->dtype()); }
  Value* over_keys(Value* weights, Value* y, DType result) {
    Value* narrow = apart(b_.convert(weights, y->dtype()), 1);
    Attributes attributes{attr::spec(std::string(is_grouped() ? "bkgts,bskd->btkgd" : "bhts,bshd->bthd"))};
    if (result != y->dtype()) attributes.set(attr::result, std::string(name(result)));
    return together(b_.create(Op::matmul, {narrow, y}, std::move(attributes))->result(), 2);
  }
  /// sum_t weights[bhts] x[bthd], summed over the heads of a group, [b,s,k,d].
  Value* over_queries(Value* weights, Value* x) {
    Value* narrow = apart(b_.convert(weights, x->dtype()), 1);
    return b_.matmul(narrow, queries(x), is_grouped() ? "bkgts,btkgd->bskd" : "bhts,bthd->bshd");
  }

  /// "h.0.attention.scores"
  std::string part(const std::string& name) const {
    return node_.source.empty() ? name : node_.source + "." + name;
  }

 private:
  bool is_grouped() const { return heads_ != key_heads_; }
  Value* queries(Value* x) { return apart(x, 2); }

  /// Heads [h] at `axis` as [k,g].
  Value* apart(Value* x, size_t axis) {
    if (!is_grouped()) return x;
    Shape shape = x->shape();
    shape[axis] = key_heads_;
    shape.insert(shape.begin() + static_cast<int64_t>(axis) + 1, *heads_.divide(key_heads_));
    return b_.reshape(x, std::move(shape));
  }
  /// Heads [k,g] at `axis` as [h].
  Value* together(Value* x, size_t axis) {
    if (!is_grouped()) return x;
    Shape shape = x->shape();
    shape[axis] = heads_;
    shape.erase(shape.begin() + static_cast<int64_t>(axis) + 1);
    return b_.reshape(x, std::move(shape));
  }

  GraphBuilder& b_;
  const Node& node_;
  Dim heads_, key_heads_;
};

/// Returns the body's results for these values of its inputs.
llvm::SmallVector<Value*, 4> returned(GraphBuilder& b, const Node& node, llvm::ArrayRef<Value*> handed,
                                      Node* place) {
  if (!node.body) return {handed.begin(), handed.end()};
  BodyValues values;
  for (auto [inside, outside] : llvm::zip(handed_values(node), handed)) values[inside] = outside;
  for (const auto& [operand, input] : body_arguments(node)) values[input] = operand;
  inline_body(*node.body, b.graph(), place, b.source(), values);
  llvm::SmallVector<Value*, 4> results;
  for (const Graph::Output& output : node.body->outputs) results.push_back(values.at(output.value));
  return results;
}

bool is_constant(const Value* value, double number) { return splat(value) == number; }

/// Modified scores, finite, and which keys are seen (null: all of them).
struct MaskedScores {
  Value *scores, *seen;
};

/// A body that masks ends in select(seen, score, -inf); any other may have met -inf in what it reads.
MaskedScores masked(GraphBuilder& b, const Node& node, Value* modified) {
  if (!may_mask(node)) return {modified, nullptr};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Node& root = *modified->node();
  Value *seen, *score = modified;
  if (root.is(ScalarOp::select) && is_constant(root.operand(2), -infinity)) {
    seen = root.operand(0), score = root.operand(1);
  } else {
    seen = b.gt(modified, b.like(modified, -infinity));
  }
  return {b.select(seen, score, b.like(score, masked_score)), seen};
}

/// weight * factor, where a factor that is a choice of constants needs no product.
Value* times(GraphBuilder& b, Value* weight, Value* factor) {
  const Node& root = *factor->node();
  if (!root.is(ScalarOp::select) || !is_constant(root.operand(2), 0)) return b.mul(weight, factor);
  const std::optional<double> kept = splat(root.operand(1));
  Value* scaled = kept ? scale(b, weight, *kept) : b.mul(weight, root.operand(1));
  return b.select(root.operand(0), scaled, zeros(b, weight->type));
}

/// The log of each row's sum of exponentials, -inf for a row that sees no key.
Value* row_lse(GraphBuilder& b, const MaskedScores& scores) {
  Value* lse = log_sum_exp(b, scores.scores);
  if (!scores.seen) return lse;
  return b.select(b.gt(lse, b.like(lse, masked_score / 2)), lse,
                  b.like(lse, -std::numeric_limits<double>::infinity()));
}

/// The means in the type of v, and what that leaves of those in f32.
Values means_and_rest(GraphBuilder& b, AttentionProducts& products, Value* weights, Value* v) {
  Value* exact = products.over_keys(weights, v, DType::f32);
  if (v->dtype() == DType::f32) return {exact, zeros(b, exact->type)};
  Value* means = b.convert(exact, v->dtype());
  return {means, b.convert(b.sub(exact, b.convert(means, DType::f32)), v->dtype())};
}

/// Keys or values: operand number `operand`, in the type of q; codes times their scales, operand number
/// `operand` + 2.
Value* keys_or_values(GraphBuilder& b, const Node& node, unsigned operand) {
  Value* codes = node.operand(operand);
  if (!reads_codes(node)) return codes;
  Value* scales = b.broadcast(widened(b, node.operand(operand + 2)), {0, 1, 2}, codes->shape());
  return b.convert(b.mul(b.convert(codes, DType::f32), scales), node.operand(0)->dtype());
}

}  // namespace

Values decompose_attention(GraphBuilder& b, const Node& node) {
  AttentionProducts products(b, node);
  Value *keys = keys_or_values(b, node, 1), *values = keys_or_values(b, node, 2);
  Value* score = products.of_heads(node.operand(0), keys, node.get(attr::scale));
  const auto modified = returned(b, node, {score}, b.place());
  const MaskedScores scores = masked(b, node, modified[0]);
  b.set_source(products.part("softmax"));
  Value* weights = b.create(Op::softmax, {scores.scores})->result();
  if (scores.seen && !every_query_sees_a_key(scores.seen))
    weights = b.select(scores.seen, weights, zeros(b, weights->type));
  if (modified.size() > 1) {
    b.set_source(products.part("dropout"));
    weights = times(b, weights, modified[1]);
  }
  b.set_source(products.part("mix"));
  if (node.result_count() > 2) {
    const Values made = means_and_rest(b, products, weights, values);
    return {made[0], row_lse(b, scores), made[1]};
  }
  Value* means = products.over_keys(weights, values);
  const bool needs_lse = !node.result(1)->users().empty() || node.graph().is_output(node.result(1));
  return needs_lse ? Values{means, row_lse(b, scores)} : Values{means};
}

Values decompose_attention_grad(GraphBuilder& b, const Node& node) {
  AttentionProducts products(b, node);
  Value *q = node.operand(0), *k = node.operand(1), *v = node.operand(2), *g = node.operand(3);
  const double factor = node.get(attr::scale);
  Value* score = products.of_heads(q, k, factor);
  Value* product = products.of_heads(g, v, 1);
  const auto made = returned(b, node, {score, product}, b.place());
  b.set_source(products.part("gradient"));
  Value* of_score = scale(b, made[1], factor);
  Values results = {products.over_keys(of_score, k), products.over_queries(of_score, q),
                    products.over_queries(made[0], g)};
  results.append(made.begin() + 2, made.end());
  return results;
}

}  // namespace smelt
