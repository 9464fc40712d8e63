// The LLVM code of scalar_ops.def: a member function a row, on scalars and on vectors alike. Functions are
// polynomials in plain instructions, so that no library is called. Values are f32, i32 or i1 (flags).
#pragma once

#include <initializer_list>

#include "ir/op.h"
#include "llvm/IR/IRBuilder.h"

namespace smelt {

/// What a value is computed in.
enum class ComputeKind : uint8_t { flag, integer, real };
ComputeKind kind_of(const llvm::Value* value);

/// A function of `arity` values.
template <int arity, typename... Values>
struct OfValues : OfValues<arity - 1, Values..., llvm::Value*> {};
template <typename... Values>
struct OfValues<0, Values...> {
  using Function = llvm::Value*(Values...);
};

class ScalarMath {
 public:
  using V = llvm::Value*;

  ScalarMath(llvm::IRBuilder<>& builder, bool native_rounding)
      : b(builder), native_rounding_(native_rounding) {}

  /// op(operands), after the operands are brought to one width and to what the op's domain makes of them.
  V apply(ScalarOp op, llvm::ArrayRef<V> operands);

  V coerce(V value, ComputeKind kind);
  /// As many lanes as `width`; one lane is a scalar.
  V widen(V value, int width);
  V constant(V like, double number);
  V integer(V like, int64_t number);
  /// value > high ? high : value < low ? low : value; NaN passes.
  V clamp(V value, double low, double high);

  // The rows of scalar_ops.def, of operands of one width and of the row's domain: V add(V, V), V neg(V), ...
#define SMELT_DECLARE(name, arity) OfValues<arity>::Function name;
  SMELT_SCALAR_OPS(SMELT_DECLARE)
#undef SMELT_DECLARE

 private:
  V call(V (ScalarMath::*function)(V), llvm::ArrayRef<V> x) { return (this->*function)(x[0]); }
  V call(V (ScalarMath::*function)(V, V), llvm::ArrayRef<V> x) { return (this->*function)(x[0], x[1]); }
  V call(V (ScalarMath::*function)(V, V, V), llvm::ArrayRef<V> x) {
    return (this->*function)(x[0], x[1], x[2]);
  }
  void unify(Domain domain, llvm::MutableArrayRef<V> values);
  V compare(V a, V b, llvm::CmpInst::Predicate real, llvm::CmpInst::Predicate whole);
  V multiply_add(V a, V b, V c);
  V polynomial(V x, std::initializer_list<double> coefficients);
  V bits(V real);
  V real(V bits);
  V unary(llvm::Intrinsic::ID id, V a);
  struct Reduced {
    V power, rest;  // x = power ln 2 + rest
  };
  Reduced reduce_by_ln2(V x);
  V power_of_two(V exponent);
  V log_of_positive(V x);
  V odd_rational(V x, double limit, std::initializer_list<double> p, std::initializer_list<double> q);
  V sine(V x, int quarter_turns);
  V floor_by_conversion(V a);

  llvm::IRBuilder<>& b;
  bool native_rounding_;
};

/// `type`'s shape (scalar or vector) with other elements.
llvm::Type* with_element(llvm::Type* type, llvm::Type* element);
int width_of(const llvm::Type* type);
/// `element` itself for one lane, else a vector.
llvm::Type* lanes_of(llvm::Type* element, int width);

}  // namespace smelt
