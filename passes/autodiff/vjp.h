// Derivative rules by op, and the cotangents they add to.
#pragma once

#include "ir/builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// The cotangents found so far. Only active values have one: floats that depend on the variables.
class Cotangents {
 public:
  void activate(const Value* value) { active_.insert(value); }
  bool active(const Value* value) const { return active_.contains(value); }

  void add(Value* value, Value* cotangent);
  /// The cotangent of one slice of `value`; slices that tile it become one concat.
  void add_slice(Value* value, int64_t axis, Dim begin, Value* cotangent);
  /// The sum of all that was added; null where nothing was added.
  Value* take(GraphBuilder& b, Value* value);

 private:
  struct Part {
    int64_t axis;
    Dim begin;
    Value* cotangent;
  };
  struct Terms {
    llvm::SmallVector<Value*, 2> whole;
    llvm::SmallVector<Part, 4> parts;
  };
  static void assemble(GraphBuilder& b, const Value* value, Terms& terms);

  llvm::DenseSet<const Value*> active_;
  llvm::DenseMap<const Value*, Terms> terms_;
};

/// One node, seen by its rule: the cotangents of its results come in, those of its operands go out.
struct Reverse {
  GraphBuilder& b;
  Node& node;
  llvm::ArrayRef<Value*> cotangents;  // one a result, null where it has none
  Cotangents& all;

  Value* x(unsigned i = 0) const { return node.operand(i); }
  Value* y() const { return node.result(); }
  Value* g(unsigned i = 0) const { return cotangents[i]; }
  bool needs(unsigned operand) const { return all.active(node.operand(operand)); }
  void add(unsigned operand, Value* cotangent) const {
    if (cotangent && needs(operand)) all.add(node.operand(operand), cotangent);
  }
};

/// One node, seen by its forward rule: the tangents of its operands come in, those of its results go out.
struct Forward {
  using Tangents = llvm::SmallVector<Value*, 2>;
  GraphBuilder& b;
  Node& node;
  llvm::ArrayRef<Value*> tangents;  // one an operand, null where it is zero

  Value* x(unsigned i = 0) const { return node.operand(i); }
  Value* t(unsigned i = 0) const { return tangents[i]; }
  Value* t_or_zero(unsigned i) const;
};

/// The rules of one op. Composites but with_slopes have no forward rule: they are decomposed first.
struct DerivativeRule {
  Op op;
  void (*reverse)(const Reverse&);
  Forward::Tangents (*forward)(const Forward&) = nullptr;
};
/// The place of each element among those that a reduction joins, in row-major order: i32, of the operand's
/// shape.
Value* reduced_place(GraphBuilder& b, const Node& reduce);
/// Null where the op has none: its results are constants to differentiation.
const DerivativeRule* derivative_rule(Op op);

/// Marks every float of the graph that depends on an active value through differentiable ops.
void activate_users(const Graph& graph, Cotangents& cotangents);
/// Runs the rules of all nodes that have a cotangent, last first.
void walk_back(GraphBuilder& b, llvm::ArrayRef<Node*> nodes, Cotangents& cotangents);

/// attention_grad with a body that is the derivative of the attention's.
void reverse_attention(const Reverse& r);
/// The rules of pointwise nodes, from scalar_ops.def.
void reverse_pointwise(const Reverse& r);
Forward::Tangents forward_pointwise(const Forward& f);

// ---- vjp_order.cpp
void reverse_scatter(const Reverse& r);
void reverse_windows(const Reverse& r);
void reverse_scan(const Reverse& r);
void reverse_order(const Reverse& r);
// ---- vjp_custom.cpp
void reverse_custom_vjp(const Reverse& r);
Forward::Tangents forward_scatter(const Forward& f);
Forward::Tangents forward_insert(const Forward& f);
Forward::Tangents forward_scan(const Forward& f);
Forward::Tangents forward_order(const Forward& f);

// ---- jvp.cpp
/// Ops that are linear in their first operand and read no other float: the op itself, on the tangent.
Forward::Tangents forward_linear(const Forward& f);
Forward::Tangents forward_reduce(const Forward& f);
Forward::Tangents forward_with_slopes(const Forward& f);
Forward::Tangents forward_concat(const Forward& f);
Forward::Tangents forward_gather(const Forward& f);
Forward::Tangents forward_scatter_add(const Forward& f);
Forward::Tangents forward_matmul(const Forward& f);

}  // namespace smelt
