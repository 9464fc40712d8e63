#include "codegen/llvm/emitters/wide_sums.h"

#include "codegen/llvm/scalar_builder.h"

namespace smelt {

using V = llvm::Value*;

namespace {

/// The f64 sums of a chunk lie behind f32 numbers.
const llvm::Align kSumAlignment(4);

V total(llvm::IRBuilder<>& b, V sums, V wide, int width) {
  llvm::Type* type = lanes_of(b.getDoubleTy(), width);
  V part = b.CreateAlignedLoad(lanes_of(b.getFloatTy(), width), sums, kSumAlignment);
  return b.CreateFAdd(b.CreateAlignedLoad(type, wide, kSumAlignment), b.CreateFPExt(part, type));
}

}  // namespace

void zero_wide_sums(llvm::IRBuilder<>& b, V wide, int width) {
  b.CreateAlignedStore(llvm::Constant::getNullValue(lanes_of(b.getDoubleTy(), width)), wide, kSumAlignment);
}

void add_to_wide_sums(llvm::IRBuilder<>& b, V sums, V wide, int width) {
  b.CreateAlignedStore(total(b, sums, wide, width), wide, kSumAlignment);
  b.CreateAlignedStore(llvm::Constant::getNullValue(lanes_of(b.getFloatTy(), width)), sums, kSumAlignment);
}

void round_wide_sums(llvm::IRBuilder<>& b, V sums, V wide, int width) {
  V rounded = b.CreateFPTrunc(total(b, sums, wide, width), lanes_of(b.getFloatTy(), width));
  b.CreateAlignedStore(rounded, sums, kSumAlignment);
}

}  // namespace smelt
