#include "codegen/llvm/scalar_math.h"

#include <algorithm>

namespace smelt {

using llvm::CmpInst;
using V = ScalarMath::V;
namespace intrinsic = llvm::Intrinsic;

// ---- shapes and kinds
// ---------------------------------------------------------------------------------------------

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
  return type->isIntegerTy(1) ? ComputeKind::flag : ComputeKind::integer;
}

V ScalarMath::constant(V like, double number) { return llvm::ConstantFP::get(like->getType(), number); }

V ScalarMath::integer(V like, int64_t number) {
  return llvm::ConstantInt::getSigned(with_element(like->getType(), b.getInt32Ty()), number);
}

V ScalarMath::widen(V value, int width) {
  return width_of(value->getType()) == width ? value : b.CreateVectorSplat(width, value);
}

V ScalarMath::coerce(V value, ComputeKind kind) {
  const ComputeKind from = kind_of(value);
  llvm::Type* real = with_element(value->getType(), b.getFloatTy());
  llvm::Type* whole = with_element(value->getType(), b.getInt32Ty());
  if (from == kind) return value;
  if (kind == ComputeKind::flag)
    return from == ComputeKind::real ? b.CreateFCmpUNE(value, constant(value, 0))
                                     : b.CreateICmpNE(value, integer(value, 0));
  if (kind == ComputeKind::real)
    return from == ComputeKind::flag ? b.CreateUIToFP(value, real) : b.CreateSIToFP(value, real);
  return from == ComputeKind::flag
             ? b.CreateZExt(value, whole)
             : b.CreateIntrinsic(intrinsic::fptosi_sat, {whole, value->getType()}, {value});
}

namespace {
/// What values of these kinds become in a domain.
ComputeKind kind_in(Domain domain, llvm::ArrayRef<V> values) {
  if (domain == Domain::flags) return ComputeKind::flag;
  if (domain == Domain::reals) return ComputeKind::real;
  ComputeKind kind = domain == Domain::numbers ? ComputeKind::integer : ComputeKind::flag;
  for (V value : values) kind = std::max(kind, kind_of(value));
  return kind;
}
}  // namespace

void ScalarMath::unify(Domain domain, llvm::MutableArrayRef<V> values) {
  const ComputeKind kind = kind_in(domain, values);
  int width = 1;
  for (V value : values) width = std::max(width, width_of(value->getType()));
  for (V& value : values) value = widen(coerce(value, kind), width);
}

V ScalarMath::apply(ScalarOp op, llvm::ArrayRef<V> operands) {
  llvm::SmallVector<V, 3> x(operands);
  const Domain domain = info(op).domain;
  if (domain == Domain::choice) {
    unify(domain, llvm::MutableArrayRef<V>(x).drop_front());
    x[0] = coerce(x[0], ComputeKind::flag);
    if (width_of(x[0]->getType()) > 1)
      for (V& value : x) value = widen(value, width_of(x[0]->getType()));
  } else {
    unify(domain, x);
  }
  switch (op) {
#define SMELT_CALL(name, ...) \
  case ScalarOp::name:        \
    return call(&ScalarMath::name, x);
    SMELT_SCALAR_OPS(SMELT_CALL)
#undef SMELT_CALL
  }
  llvm_unreachable("every operation has a case");
}

// ---- building blocks
// ----------------------------------------------------------------------------------------------

V ScalarMath::bits(V value) { return b.CreateBitCast(value, with_element(value->getType(), b.getInt32Ty())); }

V ScalarMath::real(V value) { return b.CreateBitCast(value, with_element(value->getType(), b.getFloatTy())); }

V ScalarMath::unary(intrinsic::ID id, V a) { return b.CreateUnaryIntrinsic(id, a); }

V ScalarMath::multiply_add(V x, V y, V z) {
  return b.CreateIntrinsic(intrinsic::fmuladd, {x->getType()}, {x, y, z});
}

/// coefficients[0] + coefficients[1] x + ..., by Horner's rule.
V ScalarMath::polynomial(V x, std::initializer_list<double> coefficients) {
  V sum = constant(x, *(coefficients.end() - 1));
  for (size_t i = coefficients.size() - 1; i-- > 0;)
    sum = multiply_add(sum, x, constant(x, coefficients.begin()[i]));
  return sum;
}

V ScalarMath::clamp(V value, double low, double high) {
  V top = constant(value, high), bottom = constant(value, low);
  value = b.CreateSelect(b.CreateFCmpOLT(top, value), top, value);
  return b.CreateSelect(b.CreateFCmpOGT(bottom, value), bottom, value);
}

// ---- arithmetic
// ---------------------------------------------------------------------------------------------------

namespace {
bool is_real(V a) { return kind_of(a) == ComputeKind::real; }
}  // namespace

V ScalarMath::add(V x, V y) {
  if (is_real(x)) return b.CreateFAdd(x, y);
  return b.CreateAdd(x, y);
}

V ScalarMath::sub(V x, V y) {
  if (is_real(x)) return b.CreateFSub(x, y);
  return b.CreateSub(x, y);
}

V ScalarMath::mul(V x, V y) {
  if (is_real(x)) return b.CreateFMul(x, y);
  return b.CreateMul(x, y);
}

/// Integers: truncating; x / 0 = x, because lanes that are switched off may divide by anything.
V ScalarMath::div(V x, V y) {
  if (is_real(x)) return b.CreateFDiv(x, y);
  V overflow = b.CreateAnd(b.CreateICmpEQ(y, integer(y, -1)), b.CreateICmpEQ(x, integer(x, INT32_MIN)));
  V safe = b.CreateSelect(b.CreateOr(overflow, b.CreateICmpEQ(y, integer(y, 0))), integer(y, 1), y);
  return b.CreateSDiv(x, safe);
}

namespace {
/// NaN wins. The sign of a zero does not matter, which saves half of the instructions.
V extremum(llvm::IRBuilder<>& b, V x, V y, intrinsic::ID real, intrinsic::ID whole) {
  if (!is_real(x)) return b.CreateBinaryIntrinsic(whole, x, y);
  auto* call = llvm::cast<llvm::Instruction>(b.CreateIntrinsic(real, {x->getType()}, {x, y}));
  call->setHasNoSignedZeros(true);
  return call;
}
}  // namespace

V ScalarMath::max(V x, V y) {
  if (kind_of(x) == ComputeKind::flag) return b.CreateOr(x, y);
  return extremum(b, x, y, intrinsic::maximum, intrinsic::smax);
}

V ScalarMath::min(V x, V y) {
  if (kind_of(x) == ComputeKind::flag) return b.CreateAnd(x, y);
  return extremum(b, x, y, intrinsic::minimum, intrinsic::smin);
}

V ScalarMath::neg(V a) { return is_real(a) ? b.CreateFNeg(a) : b.CreateNeg(a); }

V ScalarMath::abs(V a) {
  if (is_real(a)) return unary(intrinsic::fabs, a);
  return b.CreateSelect(b.CreateICmpSLT(a, integer(a, 0)), b.CreateNeg(a), a);
}

V ScalarMath::sign(V a) {
  if (!is_real(a)) {
    return b.CreateBinaryIntrinsic(intrinsic::smax, integer(a, -1),
                                   b.CreateBinaryIntrinsic(intrinsic::smin, a, integer(a, 1)));
  }
  V negative = b.CreateSelect(b.CreateFCmpOLT(a, constant(a, 0)), constant(a, -1), a);
  return b.CreateSelect(b.CreateFCmpOGT(a, constant(a, 0)), constant(a, 1), negative);
}

V ScalarMath::sqrt(V a) { return unary(intrinsic::sqrt, a); }

V ScalarMath::reciprocal(V a) { return b.CreateFDiv(constant(a, 1), a); }

V ScalarMath::rsqrt(V a) { return reciprocal(sqrt(a)); }

V ScalarMath::floor(V a) {
  if (!is_real(a)) return a;
  return native_rounding_ ? unary(intrinsic::floor, a) : floor_by_conversion(a);
}

V ScalarMath::floor_by_conversion(V a) {
  V near = b.CreateSIToFP(coerce(a, ComputeKind::integer), a->getType());
  V down = b.CreateSelect(b.CreateFCmpOGT(near, a), b.CreateFSub(near, constant(a, 1)), near);
  V small = b.CreateFCmpOLT(unary(intrinsic::fabs, a), constant(a, 8388608.0));  // beyond: whole already
  return b.CreateSelect(small, down, a);
}

// ---- comparisons and logic
// ----------------------------------------------------------------------------------------

/// Flags are compared as 0 and 1.
V ScalarMath::compare(V x, V y, CmpInst::Predicate real, CmpInst::Predicate whole) {
  if (is_real(x)) return b.CreateFCmp(real, x, y);
  return b.CreateICmp(whole, coerce(x, ComputeKind::integer), coerce(y, ComputeKind::integer));
}

V ScalarMath::lt(V x, V y) { return compare(x, y, CmpInst::FCMP_OLT, CmpInst::ICMP_SLT); }
V ScalarMath::le(V x, V y) { return compare(x, y, CmpInst::FCMP_OLE, CmpInst::ICMP_SLE); }
V ScalarMath::gt(V x, V y) { return compare(x, y, CmpInst::FCMP_OGT, CmpInst::ICMP_SGT); }
V ScalarMath::ge(V x, V y) { return compare(x, y, CmpInst::FCMP_OGE, CmpInst::ICMP_SGE); }
V ScalarMath::eq(V x, V y) { return compare(x, y, CmpInst::FCMP_OEQ, CmpInst::ICMP_EQ); }
V ScalarMath::ne(V x, V y) { return compare(x, y, CmpInst::FCMP_UNE, CmpInst::ICMP_NE); }

V ScalarMath::logical_and(V x, V y) { return b.CreateAnd(x, y); }
V ScalarMath::logical_or(V x, V y) { return b.CreateOr(x, y); }
V ScalarMath::logical_not(V a) { return b.CreateNot(a); }
V ScalarMath::select(V a, V x, V y) { return b.CreateSelect(a, x, y); }

}  // namespace smelt
