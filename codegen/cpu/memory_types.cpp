#include "codegen/cpu/memory_types.h"

namespace smelt {

using V = MemoryTypes::V;

llvm::Type* MemoryTypes::element(DType type) const {
  switch (type) {
    case DType::f32:
      return b.getFloatTy();
    case DType::f16:
      return native_halves_ ? b.getHalfTy() : b.getInt16Ty();
    case DType::f64:
      return b.getDoubleTy();
    case DType::i32:
      return b.getInt32Ty();
    case DType::i64:
      return b.getInt64Ty();
    case DType::bf16:
    case DType::u16:
      return b.getInt16Ty();
    case DType::u8:
    case DType::i8:
    case DType::boolean:
    case DType::f8e4m3:
      return b.getInt8Ty();
  }
  llvm_unreachable("every element type has a case");
}

ComputeKind MemoryTypes::kind(DType type) {
  if (type == DType::boolean) return ComputeKind::flag;
  if (type == DType::i64) return ComputeKind::wide;
  return is_float(type) ? ComputeKind::real : ComputeKind::integer;
}

llvm::Type* MemoryTypes::computed(DType type) const {
  const ComputeKind kind = MemoryTypes::kind(type);
  if (kind == ComputeKind::flag) return b.getInt1Ty();
  if (kind == ComputeKind::wide) return b.getInt64Ty();
  return kind == ComputeKind::real ? b.getFloatTy() : b.getInt32Ty();
}

V MemoryTypes::unpack(V raw, DType type) {
  llvm::Type* target = with_element(raw->getType(), computed(type));
  switch (type) {
    case DType::f32:
    case DType::i32:
    case DType::i64:
      return raw;
    case DType::f64:
      return b.CreateFPTrunc(raw, target);
    case DType::u16:
    case DType::u8:
      return b.CreateZExt(raw, target);
    case DType::i8:
      return b.CreateSExt(raw, target);
    case DType::boolean:
      return b.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
    case DType::f16:
      return native_halves_ ? b.CreateFPExt(raw, target) : unpack_f16(raw);
    case DType::f8e4m3:
      return unpack_f8e4m3(raw);
    case DType::bf16: {
      V wide = b.CreateZExt(raw, with_element(target, b.getInt32Ty()));
      return b.CreateBitCast(b.CreateShl(wide, math_.integer(wide, 16)), target);
    }
  }
  llvm_unreachable("every element type has a case");
}

V MemoryTypes::pack(V value, DType type, bool exact) {
  value = math_.coerce(value, kind(type));
  llvm::Type* target = with_element(value->getType(), element(type));
  switch (type) {
    case DType::f32:
    case DType::i32:
    case DType::i64:
      return value;
    case DType::f64:
      return b.CreateFPExt(value, target);
    case DType::u16:
    case DType::u8:
    case DType::i8:
      return b.CreateTrunc(value, target);
    case DType::boolean:
      return b.CreateZExt(value, target);
    case DType::f16:
      return native_halves_ ? b.CreateFPTrunc(value, target) : pack_f16(value);
    case DType::bf16:
      return pack_bf16(value, exact);
    case DType::f8e4m3:
      return pack_f8e4m3(value);
  }
  llvm_unreachable("every element type has a case");
}

V MemoryTypes::convert(V value, DType type) {
  value = math_.coerce(value, kind(type));
  const bool rounds = type == DType::bf16 || type == DType::f16 || type == DType::f8e4m3 ||
                      (!is_float(type) && size_of(type) < 4 && type != DType::boolean);
  return rounds ? unpack(pack(value, type, false), type) : value;
}

V MemoryTypes::convert_stochastic(V value, V bits) {
  value = math_.coerce(value, ComputeKind::real);
  llvm::Type* whole = with_element(value->getType(), b.getInt32Ty());
  V pattern = b.CreateBitCast(value, whole);
  V low = b.CreateAnd(math_.coerce(bits, ComputeKind::integer), math_.integer(pattern, 0xFFFF));
  V cut = b.CreateAnd(b.CreateAdd(pattern, low), math_.integer(pattern, 0xFFFF0000));
  return b.CreateSelect(b.CreateFCmpUNO(value, value), value, b.CreateBitCast(cut, value->getType()));
}

/// Adding 0x7FFF, or 0x8000 before an odd upper half, rounds to nearest even; a NaN keeps its upper half and
/// is made quiet.
V MemoryTypes::pack_bf16(V value, bool exact) {
  llvm::Type* whole = with_element(value->getType(), b.getInt32Ty());
  llvm::Type* target = with_element(value->getType(), b.getInt16Ty());
  V bits = b.CreateBitCast(value, whole);
  V upper = b.CreateLShr(bits, math_.integer(bits, 16));
  if (exact) return b.CreateTrunc(upper, target);
  V bias = b.CreateAdd(b.CreateAnd(upper, math_.integer(bits, 1)), math_.integer(bits, 0x7FFF));
  V rounded = b.CreateLShr(b.CreateAdd(bits, bias), math_.integer(bits, 16));
  V quiet = b.CreateOr(upper, math_.integer(bits, 0x40));
  return b.CreateTrunc(b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded), target);
}

/// Unpacks without an f16 instruction: a multiplication shifts the exponent, which also normalises small
/// numbers.
V MemoryTypes::unpack_f16(V raw) {
  llvm::Type* whole = with_element(raw->getType(), b.getInt32Ty());
  llvm::Type* real = with_element(raw->getType(), b.getFloatTy());
  V bits = b.CreateZExt(raw, whole);
  V magnitude = b.CreateShl(b.CreateAnd(bits, math_.integer(bits, 0x7FFF)), math_.integer(bits, 13));
  V scaled = b.CreateFMul(b.CreateBitCast(magnitude, real), llvm::ConstantFP::get(real, 0x1p112));
  V special = b.CreateICmpUGE(magnitude, math_.integer(bits, 0x7C00 << 13));
  V pattern = b.CreateSelect(special, b.CreateOr(magnitude, math_.integer(bits, 0x7F800000)),
                             b.CreateBitCast(scaled, whole));
  V sign = b.CreateShl(b.CreateAnd(bits, math_.integer(bits, 0x8000)), math_.integer(bits, 16));
  return b.CreateBitCast(b.CreateOr(pattern, sign), real);
}

/// Adding 0.5 leaves a subnormal f16 in the low bits, rounded; normal ones are rounded as bf16 is.
V MemoryTypes::pack_f16(V value) {
  llvm::Type* whole = with_element(value->getType(), b.getInt32Ty());
  V bits = b.CreateBitCast(value, whole);
  const auto number = [&](int64_t n) { return math_.integer(bits, n); };
  V magnitude = b.CreateAnd(bits, number(0x7FFFFFFF));
  V shifted = b.CreateFAdd(b.CreateBitCast(magnitude, value->getType()), math_.constant(value, 0.5));
  V subnormal = b.CreateSub(b.CreateBitCast(shifted, whole), number(0x3F000000));
  V bias =
      b.CreateAdd(b.CreateAnd(b.CreateLShr(magnitude, number(13)), number(1)), number(0xFFF - (112 << 23)));
  V normal = b.CreateLShr(b.CreateAdd(magnitude, bias), number(13));
  V y = b.CreateSelect(b.CreateICmpULT(magnitude, number(0x38800000)), subnormal, normal);
  y = b.CreateSelect(b.CreateICmpUGE(magnitude, number(0x47800000)), number(0x7C00), y);
  y = b.CreateSelect(b.CreateICmpUGT(magnitude, number(0x7F800000)), number(0x7E00), y);
  V sign = b.CreateAnd(b.CreateLShr(bits, number(16)), number(0x8000));
  return b.CreateTrunc(b.CreateOr(y, sign), with_element(value->getType(), b.getInt16Ty()));
}

/// As unpack_f16 without infinities: the exponent of f32 exceeds that of f8e4m3 by 120.
V MemoryTypes::unpack_f8e4m3(V raw) {
  llvm::Type* whole = with_element(raw->getType(), b.getInt32Ty());
  llvm::Type* real = with_element(raw->getType(), b.getFloatTy());
  V bits = b.CreateZExt(raw, whole);
  V magnitude = b.CreateAnd(bits, math_.integer(bits, 0x7F));
  V scaled = b.CreateFMul(b.CreateBitCast(b.CreateShl(magnitude, math_.integer(bits, 20)), real),
                          llvm::ConstantFP::get(real, 0x1p120));
  V pattern = b.CreateSelect(b.CreateICmpEQ(magnitude, math_.integer(bits, 0x7F)),
                             math_.integer(bits, 0x7FC00000), b.CreateBitCast(scaled, whole));
  V sign = b.CreateShl(b.CreateAnd(bits, math_.integer(bits, 0x80)), math_.integer(bits, 24));
  return b.CreateBitCast(b.CreateOr(pattern, sign), real);
}

/// Adding 2^14 leaves a subnormal f8e4m3 in the low bits, rounded; from 448 on, numbers become 448.
V MemoryTypes::pack_f8e4m3(V value) {
  llvm::Type* whole = with_element(value->getType(), b.getInt32Ty());
  V bits = b.CreateBitCast(value, whole);
  const auto number = [&](int64_t n) { return math_.integer(bits, n); };
  V magnitude = b.CreateAnd(bits, number(0x7FFFFFFF));
  V shifted = b.CreateFAdd(b.CreateBitCast(magnitude, value->getType()), math_.constant(value, 0x1p14));
  V subnormal = b.CreateSub(b.CreateBitCast(shifted, whole), number(0x46800000));
  V bias =
      b.CreateAdd(b.CreateAnd(b.CreateLShr(magnitude, number(20)), number(1)), number(0x7FFFF - (120 << 23)));
  V normal = b.CreateLShr(b.CreateAdd(magnitude, bias), number(20));
  V y = b.CreateSelect(b.CreateICmpULT(magnitude, number(0x3C800000)), subnormal, normal);
  y = b.CreateSelect(b.CreateICmpUGE(magnitude, number(0x43E00000)), number(0x7E), y);
  y = b.CreateSelect(b.CreateICmpUGT(magnitude, number(0x7F800000)), number(0x7F), y);
  V sign = b.CreateAnd(b.CreateLShr(bits, number(24)), number(0x80));
  return b.CreateTrunc(b.CreateOr(y, sign), with_element(value->getType(), b.getInt8Ty()));
}

}  // namespace smelt
