// Derivative rules by op, and the cotangents they add to.
#pragma once

#include "ir/builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// What is known so far of the derivative of the output by each value. Only active values take part: floats
/// that depend on what is differentiated by.
class Cotangents {
 public:
  void activate(const Value* value) { active_.insert(value); }
  bool active(const Value* value) const { return active_.contains(value); }

  void add(Value* value, Value* cotangent);
  /// The cotangent of one slice of `value`; slices that tile it become one concat.
  void add_slice(Value* value, int64_t axis, Dim begin, Value* cotangent);
  /// The sum of all that was added; null where nothing was.
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

/// The rules of one op. Forward mode will stand beside `reverse` in the same row.
struct DerivativeRule {
  Op op;
  void (*reverse)(const Reverse&);
};
/// Null where the op has none: its results are constants to differentiation.
const DerivativeRule* derivative_rule(Op op);

/// The rule of pointwise nodes, from scalar_ops.def.
void reverse_pointwise(const Reverse& r);

}  // namespace smelt
