#include "codegen/cpu/emitters/emit_kernel.h"

#include "codegen/cpu/scalar_builder.h"

namespace smelt {

using V = llvm::Value*;

namespace {

/// Alignment of the f64 sums of a chunk, which are stored after f32 numbers.
const llvm::Align kSumAlignment(4);

V total(llvm::IRBuilder<>& b, const WideSums& at) {
  llvm::Type* type = lanes_of(at.type, at.width);
  V part = b.CreateAlignedLoad(lanes_of(b.getFloatTy(), at.width), at.sums, kSumAlignment);
  return b.CreateFAdd(b.CreateAlignedLoad(type, at.wide, kSumAlignment), b.CreateFPExt(part, type));
}

void zero(llvm::IRBuilder<>& b, V place, llvm::Type* type, int width) {
  b.CreateAlignedStore(llvm::Constant::getNullValue(lanes_of(type, width)), place, kSumAlignment);
}

}  // namespace

void zero_wide_sums(llvm::IRBuilder<>& b, const WideSums& at) { zero(b, at.wide, at.type, at.width); }

void add_to_wide_sums(llvm::IRBuilder<>& b, const WideSums& at) {
  b.CreateAlignedStore(total(b, at), at.wide, kSumAlignment);
  zero(b, at.sums, b.getFloatTy(), at.width);
}

void round_wide_sums(llvm::IRBuilder<>& b, const WideSums& at) {
  V rounded = b.CreateFPTrunc(total(b, at), lanes_of(b.getFloatTy(), at.width));
  b.CreateAlignedStore(rounded, at.sums, kSumAlignment);
}

}  // namespace smelt
