#include "codegen/cpu/scalar_math.h"

#include <utility>

namespace smelt {

using llvm::CmpInst;
using V = ScalarMath::V;
namespace intrinsic = llvm::Intrinsic;

namespace {

bool is_real(V a) { return kind_of(a) == ComputeKind::real; }

template <typename... Values, size_t... i>
V call(ScalarMath& math, V (ScalarMath::*row)(Values...), llvm::ArrayRef<V> x, std::index_sequence<i...>) {
  return (math.*row)(x[i]...);
}

template <typename... Values>
V call(ScalarMath& math, V (ScalarMath::*row)(Values...), llvm::ArrayRef<V> x) {
  return call(math, row, x, std::index_sequence_for<Values...>());
}

}  // namespace

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
    return call(*this, &ScalarMath::name, x);
    SMELT_SCALAR_OPS(SMELT_CALL)
#undef SMELT_CALL
  }
  llvm_unreachable("every operation has a case");
}

// ---- arithmetic

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
  const int64_t least = kind_of(x) == ComputeKind::wide ? INT64_MIN : INT32_MIN;
  V overflow = b.CreateAnd(b.CreateICmpEQ(y, integer(y, -1)), b.CreateICmpEQ(x, integer(x, least)));
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

V ScalarMath::round(V a) {
  if (!is_real(a)) return a;
  return native_rounding_ ? unary(intrinsic::roundeven, a) : round_by_addition(a);
}

// ---- comparisons and logic
// ----------------------------------------------------------------------------------------

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
