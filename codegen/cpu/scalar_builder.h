// The LLVM building blocks of scalar operations, for scalars and vectors alike: kinds, widths, constants, and
// steps that several functions share. Values are f32, i32, i64 or i1 (flags).
#pragma once

#include <initializer_list>

#include "ir/ops/op.h"
#include "llvm/IR/IRBuilder.h"

namespace smelt {

/// The kind of number that a value is computed as.
enum class ComputeKind : uint8_t { flag, integer, wide, real };  // wide: an integer of 64 bits
ComputeKind kind_of(const llvm::Value* value);

/// `type`'s shape (scalar or vector) with other elements.
llvm::Type* with_element(llvm::Type* type, llvm::Type* element);
int width_of(const llvm::Type* type);
/// `element` itself for one lane, else a vector.
llvm::Type* lanes_of(llvm::Type* element, int width);

class ScalarBuilder {
 public:
  using V = llvm::Value*;

  explicit ScalarBuilder(llvm::IRBuilder<>& builder) : b(builder) {}

  V coerce(V value, ComputeKind kind);
  /// Broadcasts a value to `width` lanes; one lane is a scalar.
  V widen(V value, int width);
  V constant(V like, double number);
  /// Returns a constant of 64 bits where `like` has 64, else of 32.
  V integer(V like, int64_t number);
  /// value > high ? high : value < low ? low : value; NaN passes.
  V clamp(V value, double low, double high);

 protected:
  /// Converts values to one width and to the kind that the domain requires.
  void unify(Domain domain, llvm::MutableArrayRef<V> values);
  V compare(V x, V y, llvm::CmpInst::Predicate real, llvm::CmpInst::Predicate whole);
  V unary(llvm::Intrinsic::ID id, V a);
  V multiply_add(V x, V y, V z);
  V polynomial(V x, std::initializer_list<double> coefficients);
  V odd_rational(V x, double limit, std::initializer_list<double> p, std::initializer_list<double> q);
  V floor_by_conversion(V a);
  V power_of_two(V exponent);
  V bits(V real);
  V real(V bits);

  llvm::IRBuilder<>& b;
};

}  // namespace smelt
