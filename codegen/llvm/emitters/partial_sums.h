// Partial sums of a chunk: it adds to its own slice of a parameter, which is zero even where the chunk has
// nothing to do. Where a chunk may have many rows, the slice is added to f64 sums behind all slices every few
// rows, and is their rounding in the end.
#pragma once

#include <vector>

#include "codegen/llvm/emitters/kernel_context.h"
#include "codegen/llvm/emitters/wide_sums.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

class PartialSums {
 public:
  using V = llvm::Value*;

  explicit PartialSums(KernelContext& context) : c_(context), b(context.b) {}

  /// Sets the chunk's slices to zero, which the parameters then point to.
  void begin();
  /// Follows the row of an item of the range.
  void finish_row(V item);
  /// Follows all rows.
  void finish();

 private:
  struct Slice {
    V elements = nullptr;  // their number
    V sums = nullptr;
    V wide = nullptr;  // null: the slice has no f64 sums
  };
  using Change = void(const Slice& slice, V at, int width);

  Slice slice_of(size_t param);
  void zero(const Slice& slice, V at, int width);
  void for_each(const Slice& slice, llvm::function_ref<Change> change);
  V sums_at(const Slice& slice, V at) { return b.CreateGEP(b.getFloatTy(), slice.sums, at); }
  WideSums wide_at(const Slice& slice, V at, int width) {
    return {sums_at(slice, at), b.CreateGEP(b.getDoubleTy(), slice.wide, at), b.getDoubleTy(), width};
  }

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  std::vector<Slice> slices_;
};

}  // namespace smelt
