#include "passes/graph/autodiff/vjp.h"

#include <array>

#include "ir/ops/matmul_spec.h"
#include "passes/expressions.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

// ---- shape

void reverse_convert(const Reverse& r) { r.add(0, r.b.convert(r.g(), r.x()->dtype())); }

void reverse_broadcast(const Reverse& r) {
  const auto& kept = r.node.get(attr::axes);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < r.y()->rank(); ++i)
    if (!llvm::is_contained(kept, i)) axes.push_back(i);
  r.add(0, axes.empty() ? r.g() : r.b.sum(r.g(), axes));
}

void reverse_reshape(const Reverse& r) { r.add(0, r.b.reshape(r.g(), r.x()->shape())); }

void reverse_transpose(const Reverse& r) {
  const auto& permutation = r.node.get(attr::permutation);
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  r.add(0, r.b.transpose(r.g(), inverse));
}

void reverse_slice(const Reverse& r) {
  r.all.add_slice(r.x(), r.node.get(attr::axis), r.node.get(attr::begin), r.g());
}

void reverse_concat(const Reverse& r) {
  const int64_t axis = r.node.get(attr::axis);
  Dim begin = 0;
  for (unsigned i = 0; i < r.node.operands().size(); ++i) {
    const Dim length = r.x(i)->shape()[axis];
    if (r.needs(i)) r.add(i, r.b.slice(r.g(), axis, begin, length));
    begin += length;
  }
}

// ---- indexing and matmul

void reverse_gather(const Reverse& r) {
  r.add(0, r.b.scatter_add(zeros(r.b, r.x()->type), r.x(1), r.g(), r.node.get(attr::axis)));
}

void reverse_scatter_add(const Reverse& r) {
  r.add(0, r.g());
  if (r.needs(2)) r.add(2, r.b.gather(r.g(), r.x(1), r.node.get(attr::axis)));
}

/// A body has been split before: see differentiate.
void reverse_matmul(const Reverse& r) {
  const MatmulSpec spec = parse_matmul_spec(r.node.get(attr::spec));
  if (r.needs(0)) r.add(0, r.b.matmul(r.g(), r.x(1), MatmulSpec{spec.out, spec.b, spec.a}.str()));
  if (r.needs(1)) r.add(1, r.b.matmul(r.g(), r.x(0), MatmulSpec{spec.out, spec.a, spec.b}.str()));
}

// ---- reductions

/// A value per reduced row, over all of the operand's shape.
Value* spread(const Reverse& r, Value* row) {
  return r.b.broadcast_over(row, r.node.get(attr::axes), r.x()->shape());
}

/// g to the elements that equal the row's extreme, in equal shares where several do.
Value* to_extreme(const Reverse& r, Value* g) {
  Value* equal = r.b.eq(r.x(), spread(r, r.y()));
  Value* ones = r.b.select(equal, r.b.like(r.x(), 1), r.b.like(r.x(), 0));
  Value* share = r.b.div(g, r.b.sum(ones, r.node.get(attr::axes)));
  return r.b.mul(ones, spread(r, share));
}

/// g to the element that was found.
Value* to_place(const Reverse& r) {
  Value* found = spread(r, r.node.result(1));
  return r.b.select(r.b.eq(reduced_place(r.b, r.node), found), spread(r, r.g()), zeros(r.b, r.x()->type));
}

/// With s = sum exp(x - m): ds/dx_i = exp(x_i - m) - s dm/dx_i.
Value* to_exponentials(const Reverse& r) {
  Value *m = r.node.result(0), *s = r.node.result(1), *g_max = r.g(0), *g_sum = r.g(1);
  if (!g_sum) return to_extreme(r, g_max);
  Value* through_sum = r.b.mul(spread(r, g_sum), r.b.exp(r.b.sub(r.x(), spread(r, m))));
  Value* extreme = r.b.neg(r.b.mul(g_sum, s));
  return r.b.add(through_sum, to_extreme(r, g_max ? r.b.add(g_max, extreme) : extreme));
}

/// g to index 0 of every reduced axis.
Value* to_first(const Reverse& r) {
  Value* result = spread(r, r.g());
  for (int64_t axis : r.node.get(attr::axes)) {
    Value* place = r.b.iota({DType::i32, r.x()->shape()}, axis);
    result = r.b.select(r.b.eq(place, r.b.like(place, 0)), result, r.b.like(result, 0));
  }
  return result;
}

/// g / 4 to the first four along the last reduced axis, at index 0 of the others.
Value* to_pivot(const Reverse& r) {
  Value* result = spread(r, r.g());
  result = r.b.mul(result, r.b.like(result, 1.0 / kPivotElements));
  const auto& axes = r.node.get(attr::axes);
  const int64_t last = *llvm::max_element(axes);
  for (int64_t axis : axes) {
    Value* place = r.b.iota({DType::i32, r.x()->shape()}, axis);
    const double below = axis == last ? kPivotElements : 1;
    result = r.b.select(r.b.lt(place, r.b.like(place, below)), result, r.b.like(result, 0));
  }
  return result;
}

/// With n elements per row: dmean/dx = 1 / n, dvariance/dx = 2 (x - mean) / n.
Value* to_moments(const Reverse& r) {
  Value* count = r.b.sum(r.b.like(r.x(), 1), r.node.get(attr::axes));
  const auto share = [&](Value* g) { return spread(r, r.b.div(g, count)); };
  Value* of_mean = r.g(0) ? share(r.g(0)) : nullptr;
  if (!r.g(1)) return of_mean;
  Value* twice = r.b.mul(share(r.g(1)), r.b.like(r.x(), 2));
  Value* of_variance = r.b.mul(twice, r.b.sub(r.x(), spread(r, r.node.result(0))));
  return of_mean ? r.b.add(of_mean, of_variance) : of_variance;
}

void reverse_reduce(const Reverse& r) {
  switch (r.node.reduce_op) {
    case ReduceOp::add:
      return r.add(0, spread(r, r.g()));
    case ReduceOp::first:
      return r.add(0, to_first(r));
    case ReduceOp::pivot:
      return r.add(0, to_pivot(r));
    case ReduceOp::max_sumexp:
      return r.add(0, to_exponentials(r));
    case ReduceOp::max:
    case ReduceOp::min:
      return r.add(0, to_extreme(r, r.g()));
    case ReduceOp::argmax:
      return r.add(0, to_place(r));
    case ReduceOp::mean_variance:
      return r.add(0, to_moments(r));
    default:
      fail("differentiate: the derivative of {} is not known; add it to passes/graph/autodiff/vjp.cpp",
           r.node.describe());
  }
}

void refuse_maximum(const Node& collective) {
  if (collective.has(attr::sum) && collective.get(attr::sum) != "add")
    fail(
        "differentiate: {} takes a maximum over ranks, whose derivative is not known; run differentiate "
        "before",
        collective.describe());
}

/// Reverses a collective as one linear map of all ranks: a sum's transpose is a sum, a gather's a sum of the
/// parts.
void reverse_collective(const Reverse& r) {
  refuse_maximum(r.node);
  Attributes attributes = r.node.attributes;
  const std::string kind = r.node.get(attr::kind);
  if (kind == "all_gather") attributes.set(attr::kind, "reduce_scatter");
  if (kind == "reduce_scatter") attributes.set(attr::kind, "all_gather"), attributes.remove(attr::sum);
  if (kind == "all_to_all") std::swap(attributes[attr::dim], attributes[attr::to]);
  r.add(0, r.b.create(Op::collective, {r.g()}, std::move(attributes))->result());
}

Forward::Tangents forward_collective(const Forward& f) {
  refuse_maximum(f.node);
  return forward_linear(f);
}

void refuse(const Reverse& r) {
  fail("differentiate: {} has no derivative; run differentiate before the pass that made it",
       r.node.describe());
}

void refuse_unknown(const Reverse& r) {
  fail(
      "differentiate: the derivative of {} is not known; put a stop_gradient behind it, or add it to "
      "passes/graph/autodiff/vjp.cpp",
      r.node.describe());
}

// ---- composites with a rule of their own

void reverse_with_slopes(const Reverse& r) {
  for (unsigned i = 1; i < r.node.operands().size(); i += 2)
    if (r.needs(i)) r.add(i, r.b.mul(r.g(), r.x(i + 1)));
}

void reverse_softmax(const Reverse& r) {
  Value* dot = row_sum(r.b, r.b.mul(r.g(), r.y()));
  r.add(0, r.b.mul(r.y(), r.b.sub(r.g(), along_row(r.b, dot, r.y()->shape()))));
}

void reverse_log_softmax(const Reverse& r) {
  Value* sum = along_row(r.b, row_sum(r.b, r.g()), r.y()->shape());
  r.add(0, r.b.sub(r.g(), r.b.mul(r.b.exp(r.y()), sum)));
}

/// (softmax(logits) - target distribution) g. The softmax comes from the parts of log_sum_exp, which are the
/// forward's own, so that two numbers a row are kept and no probability is.
void reverse_cross_entropy(const Reverse& r) {
  Value *logits = widened(r.b, r.x()), *targets = r.x(1);
  const Shape& shape = logits->shape();
  const SmoothingWeights smoothing = smoothing_of(r.node);
  const LogSumExp lse = log_sum_exp_parts(r.b, logits);
  Value* below = r.b.sub(logits, along_row(r.b, lse.largest, shape));
  Value* probability = r.b.exp(r.b.sub(below, along_row(r.b, lse.log, shape)));
  Value* target = r.b.select(is_target(r.b, logits, targets),
                             r.b.like(logits, smoothing.nll_weight + smoothing.each_weight),
                             r.b.like(logits, smoothing.each_weight));
  Value* g = r.b.convert(r.g(), logits->dtype());
  if (smoothing.has_ignored) {
    Value* counted = r.b.ne(targets, r.b.like(targets, static_cast<double>(smoothing.ignored)));
    g = r.b.select(counted, g, r.b.like(g, 0));
  }
  Value* result = r.b.mul(r.b.sub(probability, target), along_row(r.b, g, shape));
  r.add(0, r.b.convert(result, r.x()->dtype()));
}

// ---- the table

constexpr DerivativeRule kRules[] = {
    {Op::pointwise, reverse_pointwise, forward_pointwise},
    {Op::convert, reverse_convert, forward_linear},
    {Op::reduce, reverse_reduce, forward_reduce},
    {Op::broadcast, reverse_broadcast, forward_linear},
    {Op::reshape, reverse_reshape, forward_linear},
    {Op::transpose, reverse_transpose, forward_linear},
    {Op::slice, reverse_slice, forward_linear},
    {Op::concat, reverse_concat, forward_concat},
    {Op::gather, reverse_gather, forward_gather},
    {Op::scatter_add, reverse_scatter_add, forward_scatter_add},
    {Op::matmul, reverse_matmul, forward_matmul},
    {Op::collective, reverse_collective, forward_collective},
    {Op::scatter, reverse_scatter, forward_scatter},
    {Op::windows, reverse_windows, forward_linear},
    {Op::scan, reverse_scan, forward_scan},
    {Op::top_k, reverse_order, forward_order},
    {Op::insert, refuse_unknown, forward_insert},
    {Op::sample, refuse_unknown},
    {Op::dequantize, refuse_unknown},
    {Op::pack, refuse},
    {Op::fusion, refuse},
    {Op::with_slopes, reverse_with_slopes, forward_with_slopes},
    {Op::softmax, reverse_softmax},
    {Op::log_softmax, reverse_log_softmax},
    {Op::cross_entropy, reverse_cross_entropy},
    {Op::attention, reverse_attention},
    {Op::sort, reverse_order},
    {Op::custom_vjp, reverse_custom_vjp},
    {Op::cotangent, refuse},
};

constexpr size_t kOps = 0
#define SMELT_OP(...) +1
#include "ir/ops/ops.def"
    ;

constexpr std::array<const DerivativeRule*, kOps> by_op() {
  std::array<const DerivativeRule*, kOps> table{};
  for (const DerivativeRule& rule : kRules) table[static_cast<size_t>(rule.op)] = &rule;
  return table;
}
constexpr auto kByOp = by_op();

}  // namespace

const DerivativeRule* derivative_rule(Op op) { return kByOp[static_cast<size_t>(op)]; }

}  // namespace smelt
