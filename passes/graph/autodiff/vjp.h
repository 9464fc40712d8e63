// Derivative rules of ops, for reverse mode (vector-Jacobian products) and forward mode (Jacobian-vector
// products), and the cotangents that reverse mode accumulates.
#pragma once

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Cotangents that the rules have added so far. The cotangent of a value is the gradient of the
/// differentiated output with respect to that value. Only active values have one. A value is active if it is
/// a float and depends on the variables of the differentiation.
class Cotangents {
 public:
  void activate(const Value* value) { active_.insert(value); }
  bool active(const Value* value) const { return active_.contains(value); }

  void add(Value* value, Value* cotangent);
  /// Adds the cotangent of a slice of `value`, which starts at index `begin` along `axis`. If slices cover
  /// the value without overlap, take() joins their cotangents by one concat.
  void add_slice(Value* value, int64_t axis, Dim begin, Value* cotangent);
  /// Returns the sum of the cotangents that were added for `value`, or null if there are none.
  Value* take(GraphBuilder& b, Value* value);

 private:
  struct Part {  // the cotangent of a slice
    int64_t axis;
    Dim begin;
    Value* cotangent;
  };
  struct Terms {
    llvm::SmallVector<Value*, 2> whole;  // cotangents of the whole value
    llvm::SmallVector<Part, 4> parts;
  };
  static void assemble(GraphBuilder& b, const Value* value, Terms& terms);

  llvm::DenseSet<const Value*> active_;
  llvm::DenseMap<const Value*, Terms> terms_;
};

/// Arguments of a reverse rule. The rule reads the cotangents of the node's results, and adds cotangents of
/// the node's operands.
struct Reverse {
  GraphBuilder& b;
  Node& node;
  llvm::ArrayRef<Value*> cotangents;  // one per result; null: the result has none
  Cotangents& all;                    // receives the cotangents of the operands

  Value* x(unsigned i = 0) const { return node.operand(i); }
  Value* y() const { return node.result(); }
  Value* g(unsigned i = 0) const { return cotangents[i]; }  // of result i
  /// Returns whether the rule must add a cotangent of this operand.
  bool needs(unsigned operand) const { return all.active(node.operand(operand)); }
  void add(unsigned operand, Value* cotangent) const {
    if (cotangent && needs(operand)) all.add(node.operand(operand), cotangent);
  }
};

/// Arguments of a forward rule. The rule reads the tangents of the node's operands, and returns the tangents
/// of the node's results. The tangent of a value is its directional derivative; the direction is given by the
/// tangents of the variables.
struct Forward {
  using Tangents = llvm::SmallVector<Value*, 2>;
  GraphBuilder& b;
  Node& node;
  llvm::ArrayRef<Value*> tangents;  // one per operand; null: the tangent is zero

  Value* x(unsigned i = 0) const { return node.operand(i); }
  Value* t(unsigned i = 0) const { return tangents[i]; }  // of operand i; null: zero
  Value* t_or_zero(unsigned i) const;
};

/// Rules of one op. `forward` is null if the op has no forward rule. Composite ops are decomposed before
/// forward mode, so only the composite with_slopes has a forward rule.
struct DerivativeRule {
  Op op;
  void (*reverse)(const Reverse&);
  Forward::Tangents (*forward)(const Forward&) = nullptr;
};
/// Returns the index of each element along the reduced axes: i32, with the shape of the reduction's operand.
/// Several reduced axes count as one row-major axis.
Value* reduced_place(GraphBuilder& b, const Node& reduce);
/// Returns the rules of the op, or null if it has none. Results of an op without rules count as constants.
const DerivativeRule* derivative_rule(Op op);

/// Activates every float of the graph that depends on an active value through differentiable ops.
void activate_users(const Graph& graph, Cotangents& cotangents);
/// Visits `nodes` from the last to the first. Runs the reverse rule of a node if one of its results has a
/// cotangent.
void walk_back(GraphBuilder& b, llvm::ArrayRef<Node*> nodes, Cotangents& cotangents);

/// Builds an attention_grad. Its body is the derivative of the attention's body (score_mod).
void reverse_attention(const Reverse& r);
/// Rules of pointwise nodes, which apply the derivatives that scalar_ops.def gives for the operation.
void reverse_pointwise(const Reverse& r);
Forward::Tangents forward_pointwise(const Forward& f);

// Rules of single ops: the functions reverse_OP and forward_OP.
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
/// Applies the op itself to the tangent of its first operand. It is the rule of ops that are linear in their
/// first operand and read no other float.
Forward::Tangents forward_linear(const Forward& f);
Forward::Tangents forward_reduce(const Forward& f);
/// The op with_slopes has the operands y, followed by pairs of an x and a slope. It returns y. Its derivative
/// with respect to each x is defined as the slope of the pair.
Forward::Tangents forward_with_slopes(const Forward& f);
Forward::Tangents forward_concat(const Forward& f);
Forward::Tangents forward_gather(const Forward& f);
Forward::Tangents forward_scatter_add(const Forward& f);
Forward::Tangents forward_matmul(const Forward& f);

}  // namespace smelt
