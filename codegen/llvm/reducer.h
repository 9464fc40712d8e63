// The monoid of every row of reduce_ops.def in LLVM IR, lane by lane: ir/evaluate/reduction.h is its model.
#pragma once

#include "codegen/llvm/scalar_math.h"

namespace smelt {

class Reducer {
 public:
  using V = llvm::Value*;
  struct State {
    V first = nullptr, second = nullptr;  // no second where the row has one scalar
  };

  Reducer(llvm::IRBuilder<>& builder, ScalarMath& math, ReduceOp op) : b(builder), math_(math), op_(op) {}

  bool has_second() const;
  /// Types of the state's scalars, for an operand of `type`.
  llvm::Type* first_type(llvm::Type* type) const { return type; }
  llvm::Type* second_type(llvm::Type* type) const;
  State identity(llvm::Type* type) const;
  /// The state of one element; `index` is its i32 place among the reduced ones.
  State lift(V x, V index) const;
  State combine(const State& left, const State& right) const;
  /// One scalar state out of all lanes, halves onto halves: the order is the same on every processor.
  State across(State state) const;
  V finish(const State& state, int result) const;
  /// Does lift read the index?
  bool needs_index() const { return op_ == ReduceOp::argmax || op_ == ReduceOp::first; }

 private:
  State add_exponentials(const State& left, const State& right) const;
  V takes_right(const State& left, const State& right) const;

  llvm::IRBuilder<>& b;
  ScalarMath& math_;
  ReduceOp op_;
};

/// A value that is zero where m is -inf, else m: what exponents are taken against.
llvm::Value* finite_maximum(llvm::IRBuilder<>& b, ScalarMath& math, llvm::Value* m);

}  // namespace smelt
