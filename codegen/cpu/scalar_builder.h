// Building blocks of the LLVM code of scalar operations, which ScalarMath (scalar_math.h) uses: conversions
// of kinds and widths, constants, and functions such as polynomials. Operands are scalars or vectors of f32,
// i32, i64 or i1.
#pragma once

#include <initializer_list>

#include "ir/ops/op.h"
#include "llvm/IR/IRBuilder.h"

namespace smelt {

/// The kind of number that a value is computed as: flag i1, integer i32, wide i64, real f32.
enum class ComputeKind : uint8_t { flag, integer, wide, real };
/// Returns the kind of a scalar, or of the elements of a vector.
ComputeKind kind_of(const llvm::Value* value);

/// Returns a scalar or vector type with the width of `type` and with elements of type `element`.
llvm::Type* with_element(llvm::Type* type, llvm::Type* element);
/// Returns the number of lanes; 1 for a scalar.
int width_of(const llvm::Type* type);
/// Returns a vector of `width` elements, or `element` itself if the width is 1.
llvm::Type* lanes_of(llvm::Type* element, int width);

/// The base class of ScalarMath. Its functions emit the building blocks.
class ScalarBuilder {
 public:
  using V = llvm::Value*;

  explicit ScalarBuilder(llvm::IRBuilder<>& builder) : b(builder) {}

  /// Converts a value to another kind. Numbers become flags by x != 0, and f32 becomes an integer by
  /// truncation with saturation.
  V coerce(V value, ComputeKind kind);
  /// Returns the value itself if it has `width` lanes; otherwise broadcasts a scalar to `width` lanes.
  V widen(V value, int width);
  /// Returns a constant of the type of `like`, which is f32 or a vector of f32.
  V constant(V like, double number);
  /// Returns an integer constant with the width of `like`. Its elements have 64 bits if those of `like` are
  /// i64, else 32 bits.
  V integer(V like, int64_t number);
  /// Returns value > high ? high : value < low ? low : value. NaN is returned unchanged.
  V clamp(V value, double low, double high);

 protected:
  /// Converts values to a common width, and to the kind of number that an op's domain requires.
  void unify(Domain domain, llvm::MutableArrayRef<V> values);
  /// Returns the comparison by `real` if x and y are f32, and by `whole` otherwise.
  V compare(V x, V y, llvm::CmpInst::Predicate real, llvm::CmpInst::Predicate whole);
  V unary(llvm::Intrinsic::ID id, V a);
  V multiply_add(V x, V y, V z);
  /// Returns coefficients[0] + coefficients[1] x + coefficients[2] x^2 + ...
  V polynomial(V x, std::initializer_list<double> coefficients);
  /// Returns x p(x^2) / q(x^2), limited to [-1, 1]. x is first limited to [-limit, limit].
  V odd_rational(V x, double limit, std::initializer_list<double> p, std::initializer_list<double> q);
  /// Returns the integers of type `whole` nearest to 0 from the floats: the least and the largest one for
  /// floats beyond them, and 0 for NaN.
  V saturated(V value, llvm::Type* whole);
  V floor_by_conversion(V a);
  V round_by_addition(V a);
  V power_of_two(V exponent);  // 2^exponent, for an i32 exponent from -126 to 127
  V bits(V real);              // the bits of an f32, as an i32
  V real(V bits);              // the f32 with these bits

  llvm::IRBuilder<>& b;
};

}  // namespace smelt
