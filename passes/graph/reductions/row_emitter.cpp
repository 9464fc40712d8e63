#include "passes/graph/reductions/row_emitter.h"

#include <cmath>

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

Type pointwise_type(ScalarOp op, llvm::ArrayRef<Value*> operands) {
  if (info(op).flag) return {DType::boolean, operands[0]->shape()};
  return operands.back()->type;
}

}  // namespace

void RowEmitter::at(Node* place) { place_ = place; }

Node* RowEmitter::make(Draft draft, llvm::ArrayRef<Value*> operands, llvm::ArrayRef<Type> types) {
  Node* node = graph_->create(draft.op, operands, types, place_);
  node->scalar_op = draft.scalar;
  node->reduce_op = draft.reduce;
  node->attributes = std::move(draft.attributes);
  node->phase = place_->phase;
  node->anchored = anchored_;
  node->source = place_->source;
  if (Node* twin = earlier_twin(node)) {
    numbers_->forget(*node);
    graph_->erase(node);
    return twin;
  }
  made_.push_back(node);
  return node;
}

Node* RowEmitter::earlier_twin(Node* node) {
  // A forward value may serve the backward phase, not the other way round.
  for (Value* member : numbers_->members(numbers_->of(node->result()))) {
    Node* twin = member->node();
    if (twin == node || twin->anchored != node->anchored) continue;
    if (twin->phase == node->phase || in_forward(*twin)) return twin;
  }
  return nullptr;
}

Value* RowEmitter::splat(double value, const Type& type) {
  return make({.op = Op::constant, .attributes = {attr::value(value)}}, {}, {type})->result();
}

Value* RowEmitter::folded(ScalarOp op, llvm::ArrayRef<Value*> operands) {
  const ScalarOpInfo& row = info(op);
  if (!row.neutral) return nullptr;
  if (row.commutative && smelt::splat(operands[0]) == row.neutral) return operands[1];
  return smelt::splat(operands[1]) == row.neutral ? operands[0] : nullptr;
}

Value* RowEmitter::pointwise(ScalarOp op, llvm::ArrayRef<Value*> operands) {
  if (Value* value = folded(op, operands)) return value;
  return make({.op = Op::pointwise, .scalar = op}, operands, {pointwise_type(op, operands)})->result();
}

Value* RowEmitter::scale(Value* value, double factor) {
  if (factor == -1) return pointwise(ScalarOp::neg, {value});
  return factor == 1 ? value : mul(value, splat(factor, value->type));
}

Value* RowEmitter::broadcast(Value* value, std::vector<int64_t> axes, Shape shape) {
  if (value->shape() == shape) return value;
  const Type type{value->dtype(), std::move(shape)};
  if (auto constant = smelt::splat(value)) return splat(*constant, type);
  return make({.op = Op::broadcast, .attributes = {attr::axes(std::move(axes))}}, {value}, {type})->result();
}

Value* RowEmitter::along(Value* row, const RowSpace& space) {
  return broadcast(row, space.row_axes(), space.shape);
}

Value* RowEmitter::row_value(Node* node, const RowSpace& space) {
  const std::vector<int64_t> kept = space.row_axes();
  std::vector<int64_t> axes;
  for (int64_t axis : node->get(attr::axes)) axes.push_back(llvm::find(kept, axis) - kept.begin());
  return broadcast(node->operand(0), std::move(axes), space.row_shape());
}

Node* RowEmitter::reduce(ReduceOp op, Value* value, const RowSpace& space) {
  llvm::SmallVector<Type, 2> types;
  for (ReduceType type : info(op).results)
    types.push_back({type == ReduceType::index ? DType::i32 : value->dtype(), space.row_shape()});
  return make({.op = Op::reduce, .reduce = op, .attributes = {attr::axes(space.axes)}}, {value}, types);
}

Value* RowEmitter::count(const RowSpace& space, DType dtype) {
  if (auto n = space.count().constant()) return splat(static_cast<double>(*n), {dtype, space.row_shape()});
  // Known at launch only: the number of ones along each axis.
  Value* product = nullptr;
  for (int64_t axis : space.axes) {
    const Dim& extent = space.shape[axis];
    const auto n = extent.constant();
    Value* length =
        n ? splat(static_cast<double>(*n), {dtype, {}}) : sum(splat(1, {dtype, {extent}}), {{extent}, {0}});
    product = product ? mul(product, length) : length;
  }
  return broadcast(product, {}, space.row_shape());
}

Value* RowEmitter::times_count(Value* row, const RowSpace& space) {
  return mul(row, count(space, row->dtype()));
}

Value* RowEmitter::over_count(Value* row, const RowSpace& space) {
  if (auto n = space.count().constant()) return scale(row, 1.0 / static_cast<double>(*n));
  return div(row, count(space, row->dtype()));
}

Value* RowEmitter::sample(Value* value, const RowSpace& space) {
  const bool long_enough = has_pivot(value->shape(), space.axes);
  return reduce(long_enough ? ReduceOp::pivot : ReduceOp::first, value, space)->result();
}

Value* RowEmitter::if_finite(Value* sample) {
  Value* infinity = splat(std::numeric_limits<double>::infinity(), sample->type);
  Value* usable = pointwise(ScalarOp::lt, {pointwise(ScalarOp::abs, {sample}), infinity});
  return pointwise(ScalarOp::select, {usable, sample, splat(0, sample->type)});
}

bool RowEmitter::is_shifted(Value* value, const RowSpace& space) {
  const Node* node = value->node();
  if (!node->is(ScalarOp::sub)) return false;
  const Node* row = row_broadcast(node->operand(1), space);
  if (!row) return false;
  const Node* first = row->operand(0)->node();
  if (first->is(ScalarOp::select)) first = first->operand(1)->node();
  return first->is(Op::reduce) && info(first->reduce_op).samples && reduces_over(*first, space) &&
         numbers_->same(first->operand(0), node->operand(0));
}

void RowEmitter::discard_unused() {
  for (Node* node : llvm::reverse(made_)) {
    const bool used = llvm::any_of(node->results(), [&](const auto& result) {
      return !result->users().empty() || graph_->is_output(result.get());
    });
    if (used) continue;
    numbers_->forget(*node);
    graph_->erase(node);
  }
  made_.clear();
}

}  // namespace smelt
