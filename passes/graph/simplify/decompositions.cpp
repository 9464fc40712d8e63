// One function a composite row of ops.def; a row without one does not link.
#include <array>
#include <cmath>
#include <numeric>

#include "ir/graph/custom_vjp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "passes/expressions.h"
#include "passes/graph/simplify/decompose.h"
#include "runtime/base/error.h"

namespace smelt {

template <Op op>
Value* decompose_as(GraphBuilder& b, const Node& node);

namespace {

/// Letters for leading dims: "bt" for two, "t" for one.
std::string leading_letters(int64_t count, const Node& node) {
  const std::string letters = "ghijklmnbt";
  if (count > static_cast<int64_t>(letters.size()))
    fail("{}: too many dims ({})", node.describe(), count + 1);
  return letters.substr(letters.size() - static_cast<size_t>(count));
}

Value* affine(GraphBuilder& b, Value* x, const Node& norm) {
  Value* y = b.mul(x, along_last(b, widened(b, norm.operand(1)), x->shape()));
  if (norm.operands().size() > 2) y = b.add(y, along_last(b, widened(b, norm.operand(2)), x->shape()));
  return b.convert(y, norm.result()->dtype());
}

/// 1 / sqrt(mean x^2 + eps), a value per row.
Value* inverse_deviation(GraphBuilder& b, Value* x, double eps) {
  return b.rsqrt(shift(b, row_mean(b, b.mul(x, x)), eps));
}

}  // namespace

template <>
Value* decompose_as<Op::linear>(GraphBuilder& b, const Node& node) {
  const std::string lead = leading_letters(node.operand(0)->rank() - 1, node);
  Value* y = b.matmul(node.operand(0), node.operand(1), lead + "c,oc->" + lead + "o");
  return node.operands().size() < 3 ? y : b.add(y, along_last(b, node.operand(2), y->shape()));
}

template <>
Value* decompose_as<Op::embedding>(GraphBuilder& b, const Node& node) {
  return b.gather(node.operand(0), node.operand(1), 0);
}

// ---- parts of dims

/// Windows of one element each, in as much as they reach over.
template <>
Value* decompose_as<Op::strided_slice>(GraphBuilder& b, const Node& node) {
  const Shape& shape = node.result()->shape();
  const int64_t axis = node.get(attr::axis), step = node.get(attr::step);
  const Dim& length = shape[static_cast<size_t>(axis)];
  const Dim begin = node.get(attr::begin);
  if (length.is_zero()) return b.slice(node.operand(0), axis, begin, 0);
  Value* reached = b.slice(node.operand(0), axis, begin, (length - 1) * step + 1);
  return b.reshape(b.windows(reached, axis, 1, step), shape);
}

template <>
Value* decompose_as<Op::pad>(GraphBuilder& b, const Node& node) {
  Value* x = node.operand(0);
  const int64_t axis = node.get(attr::axis);
  const auto filled = [&](const Dim& length) {
    Type type = x->type;
    type.shape[static_cast<size_t>(axis)] = length;
    return b.constant(node.get(attr::value), type);
  };
  llvm::SmallVector<Value*, 3> pieces;
  const Dim low = node.get(attr::low), high = node.get(attr::high);
  if (!low.is_zero()) pieces.push_back(filled(low));
  pieces.push_back(x);
  if (!high.is_zero()) pieces.push_back(filled(high));
  return b.concat(pieces, axis);
}

template <>
Value* decompose_as<Op::softmax>(GraphBuilder& b, const Node& node) {
  Value* x = widened(b, node.operand(0));
  Value* largest = row_reduce(b, ReduceOp::max, x);
  Value* e = b.exp(b.sub(x, along_row(b, largest, x->shape())));
  return b.convert(b.div(e, along_row(b, row_sum(b, e), x->shape())), node.result()->dtype());
}

template <>
Value* decompose_as<Op::log_softmax>(GraphBuilder& b, const Node& node) {
  Value* x = widened(b, node.operand(0));
  const LogSumExp lse = log_sum_exp_parts(b, x);
  Value* below = b.sub(x, along_row(b, lse.largest, x->shape()));
  return b.convert(b.sub(below, along_row(b, lse.log, x->shape())), node.result()->dtype());
}

template <>
Value* decompose_as<Op::layer_norm>(GraphBuilder& b, const Node& node) {
  Value* x = widened(b, node.operand(0));
  Value* centred = b.sub(x, along_row(b, row_mean(b, x), x->shape()));
  Value* inverse = inverse_deviation(b, centred, node.get(attr::eps));
  return affine(b, b.mul(centred, along_row(b, inverse, x->shape())), node);
}

template <>
Value* decompose_as<Op::rms_norm>(GraphBuilder& b, const Node& node) {
  Value* x = widened(b, node.operand(0));
  Value* inverse = inverse_deviation(b, x, node.get(attr::eps));
  return affine(b, b.mul(x, along_row(b, inverse, x->shape())), node);
}

template <>
Value* decompose_as<Op::gelu>(GraphBuilder& b, const Node& node) {
  Value* x = node.operand(0);
  Value* bell = shift(b, b.erf(scale(b, x, std::sqrt(0.5))), 1);
  return b.mul(scale(b, x, 0.5), bell);
}

template <>
Value* decompose_as<Op::gelu_tanh>(GraphBuilder& b, const Node& node) {
  Value* x = node.operand(0);
  Value* cubic = shift(b, scale(b, b.mul(x, x), 0.044715), 1);   // x + 0.044715 x^3 = x (1 + 0.044715 x^2)
  Value* inner = scale(b, b.mul(x, cubic), 0.7978845608028654);  // sqrt(2 / pi)
  Value* step = shift(b, b.tanh(inner), 1);
  return b.mul(scale(b, x, 0.5), step);
}

template <>
Value* decompose_as<Op::silu>(GraphBuilder& b, const Node& node) {
  return b.mul(node.operand(0), b.sigmoid(node.operand(0)));
}

/// Differentiation is over, or takes the value's own derivative.
template <>
Value* decompose_as<Op::with_slopes>(GraphBuilder&, const Node& node) {
  return node.operand(0);
}

template <>
Value* decompose_as<Op::dropout>(GraphBuilder& b, const Node& node) {
  Value* x = node.operand(0);
  const double p = node.get(attr::p);
  if (!(p >= 0 && p <= 1)) fail("{}: p is {}, expected a probability", node.describe(), p);
  const double threshold = std::round(p * 65536);
  if (threshold == 0) return x;
  if (threshold == 65536) return zeros(b, x->type);
  Value* bits = b.random(x->shape(), static_cast<uint32_t>(node.get(attr::id)));
  bits->node()->attributes = node.attributes;
  bits->node()->attributes.remove(attr::p);
  Value* keep = b.ge(bits, b.like(bits, threshold));
  return b.select(keep, scale(b, x, 65536 / (65536 - threshold)), zeros(b, x->type));
}

// ---- criterion

template <>
Value* decompose_as<Op::cross_entropy>(GraphBuilder& b, const Node& node) {
  Value *logits = widened(b, node.operand(0)), *targets = node.operand(1);
  const SmoothingWeights smoothing = smoothing_of(node);
  const LogSumExp lse = log_sum_exp_parts(b, logits);
  Value* picked = row_sum(b, b.select(is_target(b, logits, targets), logits, zeros(b, logits->type)));
  Value* loss = b.add(b.sub(lse.largest, picked), lse.log);
  if (smoothing.each_weight != 0) {
    // sum_j nll_j = V (log + mean (largest - logits))
    const double classes = static_cast<double>(*logits->shape().back().constant());
    Value* away = b.sub(along_row(b, lse.largest, logits->shape()), logits);
    Value* each = b.add(row_mean(b, away), lse.log);
    loss = b.add(scale(b, loss, smoothing.nll_weight), scale(b, each, smoothing.each_weight * classes));
  }
  if (!smoothing.has_ignored) return loss;
  Value* counted = b.ne(targets, b.like(targets, static_cast<double>(smoothing.ignored)));
  return b.select(counted, loss, zeros(b, loss->type));
}

// ---- a stated derivative

template <>
Value* decompose_as<Op::cotangent>(GraphBuilder& b, const Node& node) {
  return zeros(b, node.result()->type);
}

namespace {

/// Returns only the values, because nothing is differentiated any more.
Values decompose_custom_vjp(GraphBuilder&, const Node& node) {
  const CustomVjp parts(node);
  Values values;
  for (unsigned i = 0; i < parts.results(); ++i) values.push_back(parts.value(i));
  return values;
}

}  // namespace

// ---- einsum

namespace {

struct Lettered {
  Value* value;
  std::string letters;
};

/// Keeps the diagonal of the first repeated pair of letters: what lies off it becomes zero and one axis is
/// summed.
Lettered without_repeats(GraphBuilder& b, Lettered x) {
  for (size_t j = 1; j < x.letters.size(); ++j) {
    const size_t i = x.letters.find(x.letters[j]);
    if (i >= j) continue;
    const Type places = {DType::i32, x.value->shape()};
    Value* on = b.eq(b.iota(places, static_cast<int64_t>(i)), b.iota(places, static_cast<int64_t>(j)));
    Value* diagonal = b.select(on, x.value, zeros(b, x.value->type));
    const std::string letters = x.letters.substr(0, j) + x.letters.substr(j + 1);
    return without_repeats(b, {b.sum(diagonal, {static_cast<int64_t>(j)}), letters});
  }
  return x;
}

/// Sums the letters that are not in `others`.
Lettered without_lone_letters(GraphBuilder& b, Lettered x, const std::string& others) {
  std::vector<int64_t> axes;
  std::string kept;
  for (size_t i = 0; i < x.letters.size(); ++i) {
    if (others.find(x.letters[i]) == std::string::npos)
      axes.push_back(static_cast<int64_t>(i));
    else
      kept += x.letters[i];
  }
  return axes.empty() ? x : Lettered{b.sum(x.value, axes), kept};
}

Value* in_order(GraphBuilder& b, const Lettered& x, const std::string& out) {
  std::vector<int64_t> permutation;
  for (char letter : out) permutation.push_back(static_cast<int64_t>(x.letters.find(letter)));
  if (llvm::is_sorted(permutation)) return x.value;
  return b.transpose(x.value, permutation);
}

std::string without_spaces(std::string text) {
  llvm::erase(text, ' ');
  return text;
}

}  // namespace

template <>
Value* decompose_as<Op::einsum>(GraphBuilder& b, const Node& node) {
  const std::string spec = without_spaces(node.get(attr::spec));
  const auto [left, right] = llvm::StringRef(spec).split("->");
  const auto [first, second] = left.split(',');
  const std::string out = right.str();
  if (node.operands().size() == 1) {
    Lettered x = without_repeats(b, {node.operand(0), first.str()});
    return in_order(b, without_lone_letters(b, x, out), out);
  }
  Lettered x = without_repeats(b, {node.operand(0), first.str()});
  Lettered y = without_repeats(b, {node.operand(1), second.str()});
  x = without_lone_letters(b, x, y.letters + out);
  y = without_lone_letters(b, y, x.letters + out);
  const bool elementwise = x.letters.size() == out.size() && y.letters.size() == out.size();
  const bool same_letters =
      llvm::all_of(x.letters + y.letters, [&](char c) { return out.find(c) != out.npos; });
  if (elementwise && same_letters) return b.mul(in_order(b, x, out), in_order(b, y, out));
  return b.matmul(x.value, y.value, x.letters + "," + y.letters + "->" + out);
}

// ---- the table

namespace {

constexpr unsigned none = Trait::none, leaf = Trait::leaf, view = Trait::view, fusable = Trait::fusable,
                   effect = Trait::effect, composite = Trait::composite, declared = Trait::declared,
                   region = Trait::region;

template <Op op, unsigned traits>
constexpr Decomposition row() {
  if constexpr (op == Op::attention)
    return &decompose_attention;
  else if constexpr (op == Op::attention_grad)
    return &decompose_attention_grad;
  else if constexpr (op == Op::conv)
    return &decompose_conv;
  else if constexpr (op == Op::sort)
    return &decompose_sort;
  else if constexpr (op == Op::custom_vjp)
    return &decompose_custom_vjp;
  else if constexpr ((traits & Trait::composite) != 0)
    return [](GraphBuilder& b, const Node& node) { return Values{decompose_as<op>(b, node)}; };
  else
    return nullptr;
}

constexpr Decomposition kDecompositions[] = {
#define SMELT_OP(name, fewest, most, traits, rule, ...) row<Op::name, (traits)>(),
#include "ir/ops/ops.def"
};

}  // namespace

Decomposition decomposition(Op op) { return kDecompositions[static_cast<size_t>(op)]; }

}  // namespace smelt
