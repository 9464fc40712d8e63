// Forward rules of primitives: the tangent of a result from those of the operands.
#include "passes/expressions.h"
#include "passes/graph/autodiff/vjp.h"
#include "runtime/base/error.h"

namespace smelt {

Value* Forward::t_or_zero(unsigned i) const { return t(i) ? t(i) : zeros(b, x(i)->type); }

Forward::Tangents forward_linear(const Forward& f) {
  const std::vector<Type> declared = {f.node.result()->type};
  Attributes attributes = f.node.attributes;
  return {f.b.create(f.node.op(), {f.t()}, std::move(attributes),
                     info(f.node.op()).has(Trait::declared) ? llvm::ArrayRef<Type>(declared)
                                                            : llvm::ArrayRef<Type>())
              ->result()};
}

Forward::Tangents forward_concat(const Forward& f) {
  llvm::SmallVector<Value*, 4> parts;
  for (unsigned i = 0; i < f.tangents.size(); ++i) parts.push_back(f.t_or_zero(i));
  return {f.b.concat(parts, f.node.get(attr::axis))};
}

Forward::Tangents forward_gather(const Forward& f) {
  return {f.b.gather(f.t(), f.x(1), f.node.get(attr::axis))};
}

Forward::Tangents forward_scatter_add(const Forward& f) {
  return {f.b.scatter_add(f.t_or_zero(0), f.x(1), f.t_or_zero(2), f.node.get(attr::axis))};
}

Forward::Tangents forward_matmul(const Forward& f) {
  const std::string& spec = f.node.get(attr::spec);
  Value* left = f.t(0) ? f.b.matmul(f.t(0), f.x(1), spec) : nullptr;
  Value* right = f.t(1) ? f.b.matmul(f.x(0), f.t(1), spec) : nullptr;
  return {left && right ? f.b.add(left, right) : left ? left : right};
}

namespace {

Value* spread(const Forward& f, Value* row) {
  return f.b.broadcast_over(row, f.node.get(attr::axes), f.x()->shape());
}

/// The mean of the tangents of all elements that equal the row's extreme: what reverse mode shares out in
/// equal parts.
Value* of_extreme(const Forward& f) {
  const auto& axes = f.node.get(attr::axes);
  Value* equal = f.b.eq(f.x(), spread(f, f.node.result()));
  Value* ones = f.b.select(equal, f.b.like(f.x(), 1), f.b.like(f.x(), 0));
  return f.b.div(f.b.sum(f.b.mul(ones, f.t()), axes), f.b.sum(ones, axes));
}

/// The tangent of the element that was found.
Value* of_place(const Forward& f) {
  Value* is_found = f.b.eq(reduced_place(f.b, f.node), spread(f, f.node.result(1)));
  return f.b.sum(f.b.select(is_found, f.t(), zeros(f.b, f.x()->type)), f.node.get(attr::axes));
}

/// With s = sum exp(x - m): ds = sum exp(x - m) (dx - dm).
Forward::Tangents of_exponentials(const Forward& f) {
  Value* most = of_extreme(f);
  Value* e = f.b.exp(f.b.sub(f.x(), spread(f, f.node.result(0))));
  return {most, f.b.sum(f.b.mul(e, f.b.sub(f.t(), spread(f, most))), f.node.get(attr::axes))};
}

/// With n elements per row: dmean = sum dx / n, dvariance = sum 2 (x - mean) dx / n.
Forward::Tangents of_moments(const Forward& f) {
  const auto& axes = f.node.get(attr::axes);
  const auto mean = [&](Value* x) { return f.b.div(f.b.sum(x, axes), f.b.sum(f.b.like(f.x(), 1), axes)); };
  Value* twice = f.b.mul(f.b.sub(f.x(), spread(f, f.node.result(0))), f.b.like(f.x(), 2));
  return {mean(f.t()), mean(f.b.mul(twice, f.t()))};
}

}  // namespace

Value* reduced_place(GraphBuilder& b, const Node& reduce) {
  const Shape& shape = reduce.operand(0)->shape();
  Value* place = nullptr;
  for (int64_t axis : reduce.get(attr::axes)) {
    Value* along = b.iota({DType::i32, shape}, axis);
    Value* length = everywhere(b, b.extent(shape[static_cast<size_t>(axis)], DType::i32), shape);
    place = place ? b.add(b.mul(place, length), along) : along;
  }
  return place;
}

Forward::Tangents forward_with_slopes(const Forward& f) {
  Value* sum = nullptr;
  for (unsigned i = 1; i < f.node.operands().size(); i += 2) {
    if (!f.t(i)) continue;
    Value* part = f.b.mul(f.t(i), f.x(i + 1));
    sum = sum ? f.b.add(sum, part) : part;
  }
  return {sum};
}

Forward::Tangents forward_reduce(const Forward& f) {
  switch (f.node.reduce_op) {
    case ReduceOp::add:
    case ReduceOp::first:
    case ReduceOp::pivot:
      return {f.b.reduce(f.node.reduce_op, f.t(), f.node.get(attr::axes))};
    case ReduceOp::max_sumexp:
      return of_exponentials(f);
    case ReduceOp::argmax:
      return {of_place(f), nullptr};
    case ReduceOp::max:
    case ReduceOp::min:
      return {of_extreme(f)};
    case ReduceOp::mean_variance:
      return of_moments(f);
    default:
      fail("differentiate: the derivative of {} is not known; add it to passes/graph/autodiff/jvp.cpp",
           f.node.describe());
  }
}

}  // namespace smelt
