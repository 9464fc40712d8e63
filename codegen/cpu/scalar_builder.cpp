#include "codegen/cpu/scalar_builder.h"

#include <algorithm>
#include <cmath>

namespace smelt {

using llvm::CmpInst;
using V = ScalarBuilder::V;
namespace intrinsic = llvm::Intrinsic;

// ---- shapes and kinds

llvm::Type* with_element(llvm::Type* type, llvm::Type* element) { return lanes_of(element, width_of(type)); }

int width_of(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

llvm::Type* lanes_of(llvm::Type* element, int width) {
  return width == 1 ? element : llvm::FixedVectorType::get(element, width);
}

ComputeKind kind_of(const llvm::Value* value) {
  const llvm::Type* type = value->getType()->getScalarType();
  if (type->isFloatTy()) return ComputeKind::real;
  if (type->isIntegerTy(64)) return ComputeKind::wide;
  return type->isIntegerTy(1) ? ComputeKind::flag : ComputeKind::integer;
}

V ScalarBuilder::constant(V like, double number) { return llvm::ConstantFP::get(like->getType(), number); }

V ScalarBuilder::integer(V like, int64_t number) {
  llvm::Type* element = kind_of(like) == ComputeKind::wide ? b.getInt64Ty() : b.getInt32Ty();
  return llvm::ConstantInt::getSigned(with_element(like->getType(), element), number);
}

V ScalarBuilder::widen(V value, int width) {
  return width_of(value->getType()) == width ? value : b.CreateVectorSplat(width, value);
}

/// As llvm.fptosi.sat, which LLVM computes one element at a time.
V ScalarBuilder::saturated(V value, llvm::Type* whole) {
  const unsigned bits = whole->getScalarSizeInBits();
  const double end = std::ldexp(1.0, static_cast<int>(bits) - 1);
  V above = b.CreateFCmpOGE(value, constant(value, end)),
    below = b.CreateFCmpOLT(value, constant(value, -end));
  V fits = b.CreateAnd(b.CreateFCmpOGE(value, constant(value, -end)), b.CreateNot(above));  // no NaN
  V number = b.CreateFPToSI(b.CreateSelect(fits, value, constant(value, 0)), whole);
  const auto bound = [&](llvm::APInt number_at_end) { return llvm::ConstantInt::get(whole, number_at_end); };
  number = b.CreateSelect(above, bound(llvm::APInt::getSignedMaxValue(bits)), number);
  return b.CreateSelect(below, bound(llvm::APInt::getSignedMinValue(bits)), number);
}

V ScalarBuilder::coerce(V value, ComputeKind kind) {
  const ComputeKind from = kind_of(value);
  llvm::Type* real = with_element(value->getType(), b.getFloatTy());
  llvm::Type* whole =
      with_element(value->getType(), kind == ComputeKind::wide ? b.getInt64Ty() : b.getInt32Ty());
  if (from == kind) return value;
  if (kind == ComputeKind::flag)
    return from == ComputeKind::real ? b.CreateFCmpUNE(value, constant(value, 0))
                                     : b.CreateICmpNE(value, integer(value, 0));
  if (kind == ComputeKind::real)
    return from == ComputeKind::flag ? b.CreateUIToFP(value, real) : b.CreateSIToFP(value, real);
  if (from == ComputeKind::real) return saturated(value, whole);
  return from == ComputeKind::flag ? b.CreateZExt(value, whole) : b.CreateSExtOrTrunc(value, whole);
}

namespace {
/// Returns the common kind that values are converted to in a domain.
ComputeKind kind_in(Domain domain, llvm::ArrayRef<V> values) {
  if (domain == Domain::flags) return ComputeKind::flag;
  if (domain == Domain::reals) return ComputeKind::real;
  ComputeKind kind = domain == Domain::numbers ? ComputeKind::integer : ComputeKind::flag;
  for (V value : values) kind = std::max(kind, kind_of(value));
  return kind;
}
}  // namespace

void ScalarBuilder::unify(Domain domain, llvm::MutableArrayRef<V> values) {
  const ComputeKind kind = kind_in(domain, values);
  int width = 1;
  for (V value : values) width = std::max(width, width_of(value->getType()));
  for (V& value : values) value = widen(coerce(value, kind), width);
}

/// Flags are compared as 0 and 1.
V ScalarBuilder::compare(V x, V y, CmpInst::Predicate real, CmpInst::Predicate whole) {
  if (kind_of(x) == ComputeKind::real) return b.CreateFCmp(real, x, y);
  if (kind_of(x) == ComputeKind::flag)
    x = coerce(x, ComputeKind::integer), y = coerce(y, ComputeKind::integer);
  return b.CreateICmp(whole, x, y);
}

// ---- steps of functions

V ScalarBuilder::bits(V value) {
  return b.CreateBitCast(value, with_element(value->getType(), b.getInt32Ty()));
}

V ScalarBuilder::real(V value) {
  return b.CreateBitCast(value, with_element(value->getType(), b.getFloatTy()));
}

V ScalarBuilder::unary(intrinsic::ID id, V a) { return b.CreateUnaryIntrinsic(id, a); }

V ScalarBuilder::multiply_add(V x, V y, V z) {
  return b.CreateIntrinsic(intrinsic::fmuladd, {x->getType()}, {x, y, z});
}

/// coefficients[0] + coefficients[1] x + ..., by Horner's rule.
V ScalarBuilder::polynomial(V x, std::initializer_list<double> coefficients) {
  V sum = constant(x, *(coefficients.end() - 1));
  for (size_t i = coefficients.size() - 1; i-- > 0;)
    sum = multiply_add(sum, x, constant(x, coefficients.begin()[i]));
  return sum;
}

V ScalarBuilder::clamp(V value, double low, double high) {
  V top = constant(value, high), bottom = constant(value, low);
  value = b.CreateSelect(b.CreateFCmpOLT(top, value), top, value);
  return b.CreateSelect(b.CreateFCmpOGT(bottom, value), bottom, value);
}

/// x P(x^2) / Q(x^2), constant beyond `limit`.
V ScalarBuilder::odd_rational(V x, double limit, std::initializer_list<double> p,
                              std::initializer_list<double> q) {
  x = clamp(x, -limit, limit);
  V t = b.CreateFMul(x, x);
  return clamp(b.CreateFDiv(b.CreateFMul(x, polynomial(t, p)), polynomial(t, q)), -1, 1);
}

V ScalarBuilder::floor_by_conversion(V a) {
  V near = b.CreateSIToFP(coerce(a, ComputeKind::integer), a->getType());
  V down = b.CreateSelect(b.CreateFCmpOGT(near, a), b.CreateFSub(near, constant(a, 1)), near);
  V small = b.CreateFCmpOLT(unary(intrinsic::fabs, a), constant(a, 8388608.0));  // beyond: whole already
  return b.CreateSelect(small, down, a);
}

/// The sum with 2^23 has no digits below 1, and is rounded to the nearest even number.
V ScalarBuilder::round_by_addition(V a) {
  V shift = b.CreateBinaryIntrinsic(intrinsic::copysign, constant(a, 8388608.0), a);
  V near = b.CreateFSub(b.CreateFAdd(a, shift), shift);
  V small = b.CreateFCmpOLT(unary(intrinsic::fabs, a), constant(a, 8388608.0));  // beyond: whole already
  return b.CreateSelect(small, near, a);
}

/// Returns 2 to the power of a whole number.
V ScalarBuilder::power_of_two(V exponent) {
  return real(b.CreateShl(b.CreateAdd(exponent, integer(exponent, 127)), integer(exponent, 23)));
}

}  // namespace smelt
