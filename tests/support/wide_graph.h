// Random graphs (random_graph.h) that also have integers of all widths, booleans, 16-bit floats, sorts, equal
// indices and consecutive attentions.
#pragma once

#include "tests/support/random_graph.h"

namespace smelt::testing {

class WideGraph : public RandomGraph {
 public:
  using RandomGraph::RandomGraph;

 private:
  using WideStep = void (WideGraph::*)();

  void grow() override {
    static const std::vector<WideStep> steps = {
        &WideGraph::wholes, &WideGraph::wholes,        &WideGraph::flags,           &WideGraph::narrow,
        &WideGraph::sort,   &WideGraph::equal_indices, &WideGraph::attention_block, &WideGraph::scans};
    if (!chance(40)) return RandomGraph::grow();
    (this->*one_of(steps))();
  }

  Value* as_float(Value* value, double factor) { return scaled(b_.convert(value, DType::f32), factor); }

  // ---- integers

  /// Returns small integers of a shape: indices along an axis, the input ids, or truncated floats.
  Value* integers(const Shape& shape) {
    if (shape == ids_->shape() && chance(50)) return ids_;
    if (chance(50) || shape.empty()) return b_.convert(scaled(of_shape_or_zero(shape), 7), DType::i32);
    return b_.iota({DType::i32, shape}, below(shape.size()));
  }

  Value* of_shape_or_zero(const Shape& shape) {
    std::vector<Value*> fitting;
    for (Value* value : pool_)
      if (value->shape() == shape) fitting.push_back(value);
    return fitting.empty() ? b_.constant(0, {DType::f32, shape}) : one_of(fitting);
  }

  Value* combined(Value* x, Value* y) {
    switch (below(8)) {
      case 0:
        return b_.add(x, y);
      case 1:
        return b_.sub(x, y);
      case 2:
        return b_.mul(x, y);
      case 3:
        return b_.max(x, y);
      case 4:
        return b_.min(x, y);
      case 5:
        return b_.div(x, b_.like(x, 1 + below(3)));
      case 6:
        return b_.abs(b_.neg(x));
      default:
        return b_.select(b_.lt(x, y), x, y);
    }
  }

  /// Arithmetic on 32-bit or 64-bit integers, which may be converted to narrower ones, and a reduction.
  void wholes() {
    const Shape& shape = any(1, 3)->shape();
    const DType type = chance(70) ? DType::i32 : DType::i64;
    Value* x = b_.convert(integers(shape), type);
    Value* y = combined(x, b_.convert(integers(shape), type));
    if (chance(50)) y = combined(y, x);
    if (chance(40)) y = b_.convert(y, one_of<DType>({DType::u8, DType::i8, DType::i32, DType::i64}));
    if (chance(50)) return add(as_float(y, 0.01));
    const int64_t axis = below(y->shape().size());
    if (may_be_empty(*y, {axis})) return add(as_float(y, 0.01));
    const ReduceOp op = one_of<ReduceOp>({ReduceOp::add, ReduceOp::max, ReduceOp::min});
    if (op == ReduceOp::add) y = b_.convert(y, chance(50) ? DType::i32 : DType::i64);
    add(as_float(b_.reduce(op, y, {axis}), 0.01));
  }

  // ---- flags

  Value* flag(Value* x, Value* y) {
    static constexpr ScalarOp kOps[] = {ScalarOp::lt, ScalarOp::le, ScalarOp::gt,
                                        ScalarOp::ge, ScalarOp::eq, ScalarOp::ne};
    return b_.pointwise(kOps[below(std::size(kOps))], {x, y});
  }

  /// Comparisons and logical operations, whose result is converted to numbers, selects values, or is reduced.
  void flags() {
    Value *x = any(1, 3), *y = like(x), *z = leaf_like(x);
    Value *a = flag(x, y), *b = flag(z, b_.like(z, 0));
    Value* both = chance(33) ? b_.logical_and(a, b) : chance(50) ? b_.logical_or(a, b) : b_.eq(a, b);
    if (chance(30)) both = b_.logical_not(both);
    if (chance(40)) return add(b_.select(both, x, scaled(y, 0.5)));
    const int64_t axis = below(x->shape().size());
    if (chance(50) || may_be_empty(*x, {axis})) return add(b_.convert(both, DType::f32));
    add(b_.convert(b_.reduce(chance(50) ? ReduceOp::max : ReduceOp::min, both, {axis}), DType::f32));
  }

  Value* leaf_like(Value* x) {
    for (Value* leaf : leaves_)
      if (leaf->type == x->type) return leaf;
    return x;
  }

  // ---- 16 bits

  /// Moves, negations, maxima and minima of 16-bit floats, which need no rounding.
  void narrow() {
    Value* x = any(1, 3);
    const DType type = chance(50) ? DType::bf16 : DType::f16;
    Value* h = b_.convert(x, type);
    const int64_t axis = below(x->shape().size());
    const Dim& size = x->shape()[static_cast<size_t>(axis)];
    switch (may_be_empty(size) ? 1 : below(5)) {
      case 0:
        h = b_.slice(h, axis, 0, floor_div(size + 1, 2));
        break;
      case 1:
        h = b_.concat({h, b_.convert(like(x), type)}, axis);
        break;
      case 2:
        h = b_.reduce(chance(50) ? ReduceOp::max : ReduceOp::min, h, {axis});
        break;
      case 3:
        h = x->rank() == 2 ? b_.gather(h, ids_, 0) : b_.neg(h);
        break;
      default:
        h = b_.windows(h, axis, 1, 2);
    }
    add(b_.convert(h, DType::f32));
  }

  // ---- order

  void sort() {
    Value* x = any(1, 3);
    if (!x->shape().back().constant() || may_be_empty(x->shape().back())) return unary();
    if (chance(80)) x = scaled(b_.floor(scaled(leaf_like(x), 2)), 0.5);  // ties
    if (chance(50)) {
      Node* sorted = b_.sort(x, chance(50));
      add(sorted->result(0));
      return add(as_float(sorted->result(1), 0.05));
    }
    Node* found = b_.top_k(x, std::min<int64_t>(1 + below(4), *x->shape().back().constant()));
    add(found->result(0));
    add(as_float(found->result(1), 0.05));
  }

  void scans() {
    Value* x = any(1, 3);
    const int64_t axis = below(x->shape().size());
    if (chance(50)) return add(b_.scan("max", x, axis));
    add(b_.scan("mul", b_.tanh(x), axis, chance(30)));
  }

  // ---- indices

  /// Scatters and gathers with mostly equal indices, so that rows are written many times.
  void equal_indices() {
    Value* init = any(1, 2);
    const int64_t axis = below(init->shape().size());
    if (may_be_empty(*init, {axis})) return unary();
    Value* updates = scaled(b_.sin(b_.gather(init, ids_, axis)), 0.1);
    Value* few = b_.min(ids_, b_.like(ids_, below(3)));
    switch (below(3)) {
      case 0:
        return add(b_.scatter_add(init, few, updates, axis));
      case 1:
        return add(b_.scatter(init, few, updates, axis));
      default:
        add(updates);
        add(b_.gather(init, few, axis));
    }
  }

  // ---- attention

  /// An attention with a residual sum and possibly a norm, and possibly a second attention after it.
  void attention_block() {
    if (!options_.composites) return unary();
    attention();
    Value* y = b_.add(pool_.back(), of_shape({symbol_b(), symbol_t(), 8}));
    if (chance(50)) y = b_.create(Op::rms_norm, {y, parameter({8})}, {attr::eps(1e-3)})->result();
    add(y);
    if (chance(50)) attention();
  }
};

/// Returns a module like random_module, with the additional steps of WideGraph.
inline std::unique_ptr<Module> wide_module(uint64_t seed, const RandomGraphOptions& options) {
  return WideGraph(seed, options).make();
}

}  // namespace smelt::testing
