// Partial sums of a chunk, which is the part of a kernel's range that one call computes, such as some
// consecutive rows. A partial parameter (KernelParam::partial) is an f32 buffer that has one slice per chunk.
// Each chunk first sets its slice to zero, and then adds the terms of its rows to the slice. If a chunk may
// have many rows (Schedule::sum_rows > 0), the chunk also has f64 sums. After every sum_rows rows, the slice
// is added to the f64 sums and set to zero. In the parameter's memory, the f64 sums follow the slices of all
// chunks. At the end, the total is rounded to f32 and stored in the slice.
#pragma once

#include <vector>

#include "codegen/cpu/emitters/emit_kernel.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

/// Emits the code for a kernel's partial parameters before, in and after the loop over the chunk's rows.
class PartialSums {
 public:
  using V = llvm::Value*;

  explicit PartialSums(KernelContext& context) : c_(context), b(context.b) {}

  /// Emits code that sets the chunk's slices to zero. From then on, the base address of a partial parameter
  /// is that of the chunk's slice.
  void begin();
  /// Emits, at the end of the row `item`, the code that adds the slices to the f64 sums after every sum_rows
  /// rows.
  void finish_row(V item);
  /// Emits, after all rows, the code that stores the totals in the slices.
  void finish();

 private:
  struct Slice {
    V elements = nullptr;  // number of elements, i64
    V sums = nullptr;      // address of the f32 sums
    V wide = nullptr;      // address of the f64 sums; null: the slice has none
  };
  /// A function that emits code for the `width` elements of a slice from element `at` on.
  using Change = void(const Slice& slice, V at, int width);

  Slice slice_of(size_t param);
  void zero(const Slice& slice, V at, int width);
  /// Calls `change` for all elements of the slice: in vectors, and then one element at a time.
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
