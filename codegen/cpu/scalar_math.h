// The LLVM code of scalar_ops.def: a member function a row, on scalars and on vectors alike. Functions are
// polynomials in plain instructions, so that no library is called.
#pragma once

#include "codegen/cpu/scalar_builder.h"

namespace smelt {

/// A function of `arity` values.
template <int arity, typename... Values>
struct OfValues : OfValues<arity - 1, Values..., llvm::Value*> {};
template <typename... Values>
struct OfValues<0, Values...> {
  using Function = llvm::Value*(Values...);
};

class ScalarMath : public ScalarBuilder {
 public:
  ScalarMath(llvm::IRBuilder<>& builder, bool native_rounding)
      : ScalarBuilder(builder), native_rounding_(native_rounding) {}

  /// op(operands), after the operands are brought to one width and to what the op's domain makes of them.
  V apply(ScalarOp op, llvm::ArrayRef<V> operands);

  // The rows of scalar_ops.def, of operands of one width and of the row's domain: V add(V, V), V neg(V), ...
#define SMELT_DECLARE(name, arity) OfValues<arity>::Function name;
  SMELT_SCALAR_OPS(SMELT_DECLARE)
#undef SMELT_DECLARE

 private:
  struct Reduced {
    V power, rest;  // x = power ln 2 + rest
  };
  Reduced reduce_by_ln2(V x);
  V log_of_positive(V x);
  /// An angle as quarter turns, whose whole number is in the low bits of `shifted`, and the remaining
  /// radians.
  struct Quarters {
    V shifted, rest;
  };
  Quarters quarters_of(V x);
  Quarters quarters_of_usual(V x);
  Quarters quarters_of_large(V x);
  V sine(V x, int quarter_turns);

  bool native_rounding_;
};

}  // namespace smelt
