// Derivative rules per op, and the cotangents that they accumulate.
#pragma once

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Cotangents found so far. Only active values have one: floats that depend on the variables.
class Cotangents {
 public:
  void activate(const Value* value) { active_.insert(value); }
  bool active(const Value* value) const { return active_.contains(value); }

  void add(Value* value, Value* cotangent);
  /// Adds the cotangent of one slice of `value`; slices that tile it become one concat.
  void add_slice(Value* value, int64_t axis, Dim begin, Value* cotangent);
  /// Returns the sum of the added cotangents; null if there are none.
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

/// Arguments of a reverse rule: the rule reads the cotangents of the node's results and adds those of its
/// operands.
struct Reverse {
  GraphBuilder& b;
  Node& node;
  llvm::ArrayRef<Value*> cotangents;  // one per result; null: it has none
  Cotangents& all;

  Value* x(unsigned i = 0) const { return node.operand(i); }
  Value* y() const { return node.result(); }
  Value* g(unsigned i = 0) const { return cotangents[i]; }
  bool needs(unsigned operand) const { return all.active(node.operand(operand)); }
  void add(unsigned operand, Value* cotangent) const {
    if (cotangent && needs(operand)) all.add(node.operand(operand), cotangent);
  }
};

/// Arguments of a forward rule: the rule reads the tangents of the node's operands and returns those of its
/// results.
struct Forward {
  using Tangents = llvm::SmallVector<Value*, 2>;
  GraphBuilder& b;
  Node& node;
  llvm::ArrayRef<Value*> tangents;  // one per operand; null: zero

  Value* x(unsigned i = 0) const { return node.operand(i); }
  Value* t(unsigned i = 0) const { return tangents[i]; }
  Value* t_or_zero(unsigned i) const;
};

/// Rules of one op. Composites other than with_slopes have no forward rule, because they are decomposed
/// first.
struct DerivativeRule {
  Op op;
  void (*reverse)(const Reverse&);
  Forward::Tangents (*forward)(const Forward&) = nullptr;
};
/// Returns the position of each element among those that a reduction combines, in row-major order: i32, of
/// the operand's shape.
Value* reduced_place(GraphBuilder& b, const Node& reduce);
/// Returns null if the op has no rule: its results are then constants to differentiation.
const DerivativeRule* derivative_rule(Op op);

/// Marks every float of the graph that depends on an active value through differentiable ops.
void activate_users(const Graph& graph, Cotangents& cotangents);
/// Runs the rules of all nodes that have a cotangent, last first.
void walk_back(GraphBuilder& b, llvm::ArrayRef<Node*> nodes, Cotangents& cotangents);

/// Builds an attention_grad whose body is the derivative of the attention's body.
void reverse_attention(const Reverse& r);
/// Applies the rules of pointwise nodes, from scalar_ops.def.
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
/// Rule of ops that are linear in their first operand and read no other float: applies the op itself to the
/// tangent.
Forward::Tangents forward_linear(const Forward& f);
Forward::Tangents forward_reduce(const Forward& f);
Forward::Tangents forward_with_slopes(const Forward& f);
Forward::Tangents forward_concat(const Forward& f);
Forward::Tangents forward_gather(const Forward& f);
Forward::Tangents forward_scatter_add(const Forward& f);
Forward::Tangents forward_matmul(const Forward& f);

}  // namespace smelt
