// Partial sums of a chunk. A chunk adds to its own slice of a parameter, which is zero even where the chunk
// has no rows. Where a chunk may have many rows, the slice is added every few rows to f64 sums, which are
// stored after all slices; at the end the slice is the f64 sums, rounded.
#pragma once

#include <vector>

#include "codegen/cpu/emitters/emit_kernel.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

class PartialSums {
 public:
  using V = llvm::Value*;

  explicit PartialSums(KernelContext& context) : c_(context), b(context.b) {}

  /// Sets the chunk's slices to zero, and makes the parameters point to them.
  void begin();
  /// Called after the row of an item of the range.
  void finish_row(V item);
  /// Called after all rows.
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
