// The LLVM code of scalar_ops.def: one member function per row, for scalars and vectors alike. Functions such
// as exp are polynomials or rational functions in plain instructions, so that no library is called.
#pragma once

#include "codegen/cpu/scalar_builder.h"

namespace smelt {

/// OfValues<arity>::Function is the type of a function that takes `arity` LLVM values and returns one LLVM
/// value.
template <int arity, typename... Values>
struct OfValues : OfValues<arity - 1, Values..., llvm::Value*> {};
template <typename... Values>
struct OfValues<0, Values...> {
  using Function = llvm::Value*(Values...);
};

/// Emits scalar operations. `native_rounding`: the processor has instructions that round to a whole number,
/// such as floor (TargetTraits::rounds).
class ScalarMath : public ScalarBuilder {
 public:
  ScalarMath(llvm::IRBuilder<>& builder, bool native_rounding)
      : ScalarBuilder(builder), native_rounding_(native_rounding) {}

  /// Returns op(operands). First converts the operands to a common number of bits, and to the kind of number
  /// (integer, float) that the op requires.
  V apply(ScalarOp op, llvm::ArrayRef<V> operands);

  // One function per row of scalar_ops.def: V add(V, V), V neg(V), and so on. Requires: the operands are
  // already converted as `apply` converts them.
#define SMELT_DECLARE(name, arity) OfValues<arity>::Function name;
  SMELT_SCALAR_OPS(SMELT_DECLARE)
#undef SMELT_DECLARE

 private:
  struct Reduced {
    V power, rest;  // x = power * ln 2 + rest
  };
  Reduced reduce_by_ln2(V x);
  V log_of_positive(V x);
  /// An angle: a whole number of quarter turns, which is in the low bits of `shifted`, plus `rest` radians.
  struct Quarters {
    V shifted, rest;
  };
  Quarters quarters_of(V x);
  Quarters quarters_of_usual(V x);
  Quarters quarters_of_large(V x);
  /// Returns sin(x + quarter_turns * pi / 2).
  V sine(V x, int quarter_turns);

  bool native_rounding_;
};

}  // namespace smelt
