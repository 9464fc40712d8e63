// LLVM code of the reductions of reduce_ops.def. A reduction keeps a state of one or more scalars: the sum,
// for example, or the largest element and its index. If the scalars are vectors, each lane has a separate
// state, until `across` combines the lanes.
#pragma once

#include "codegen/cpu/scalar_math.h"
#include "ir/kernel/reduction_code.h"

namespace smelt {

/// Emits the operations on states of one kind of reduction, ReduceOp.
class Reducer {
 public:
  using V = llvm::Value*;
  using State = llvm::SmallVector<V, 4>;

  Reducer(llvm::IRBuilder<>& builder, ScalarMath& math, ReduceOp op)
      : b(builder), math_(math), code_(reduction_code(op)), row_(info(op)) {}

  /// Returns the number of scalars of a state.
  size_t size() const { return row_.state.size(); }
  /// Returns the type of one scalar of a state, for elements of `type`.
  llvm::Type* type_of(size_t scalar, llvm::Type* type) const;
  /// Returns the state of an empty reduction of elements of `type`.
  State identity(llvm::Type* type) const;
  /// Returns the state of the single element x. `index` is its i32 position among the reduced elements, and
  /// is read only if needs_index().
  State lift(V x, V index) const;
  /// Returns the state of all elements whose states are `left` and `right`.
  State combine(const State& left, const State& right) const;
  /// Combines all lanes to one scalar state: the lower half of the lanes with the upper half, until one lane
  /// is left.
  State across(State state) const;
  /// Returns the result with the number `result`: 0, or 0 and 1 for max_sumexp, which has two results.
  V finish(const State& state, size_t result) const;
  /// Returns whether every result is a scalar of the state, unchanged.
  bool is_plain() const;
  bool needs_index() const { return code_.reads_place(); }

 private:
  V constant(const ReductionStep& step, llvm::Type* type) const;
  State run(const ReductionFunction& function, llvm::Type* type,
            llvm::function_ref<V(const ReductionStep&)> variable) const;

  llvm::IRBuilder<>& b;
  ScalarMath& math_;
  const ReductionCode& code_;
  const ReduceOpInfo& row_;
};

/// Returns m where m is finite, and 0 where m is infinite. Code that computes exp(x - m), where m is a
/// maximum, subtracts this number instead of m, because infinity - infinity would be NaN.
llvm::Value* finite_maximum(llvm::IRBuilder<>& b, ScalarMath& math, llvm::Value* m);

}  // namespace smelt
