// The outermost loop of a kernel's function. The range of a kernel (Kernel::range) is the set of its items;
// one call of the function computes some of them, one after the other. In a kernel without reduced axes, an
// item is a row: all columns at one index along each parallel axis. In a kernel with reduced axes, an item is
// one tile of the columns of a row, or the row itself if it has no columns. In a flat kernel
// (Schedule::flat), an item is one column.
#pragma once

#include <vector>

#include "codegen/cpu/emitters/block_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"
#include "codegen/cpu/emitters/partial_sums.h"

namespace smelt {

/// Emits the loop over the items of one kernel, and sets the indices and columns of the current item in
/// KernelPlace.
class RangeEmitter {
 public:
  using V = llvm::Value*;

  RangeEmitter(KernelContext& context, KernelValues& values, BlockEmitter& blocks, PartialSums& sums)
      : c_(context), b(context.b), values_(values), blocks_(blocks), sums_(sums) {}

  /// Emits the whole loop, with the blocks of the kernel in its body.
  void emit() { c_.schedule.flat ? emit_flat() : emit_items(); }

 private:
  void emit_flat();
  void emit_items();
  void emit_row(llvm::BasicBlock* next);

  // The counters are the indices of the current item, on the stack. The indices of the first item are
  // computed by division. Those of each later item are computed from the item before it, by adding 1 with
  // carries.
  V tile_count();
  V create_counter(V first);
  void start_counters(V item);
  void advance_counters();
  V advanced(V counter, V extent, V carry);

  void set_indices(V item);
  void set_block();  // only for attention: sets the columns to those of the current block of scores
  void set_tile();   // sets the columns to those of the item's tile

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  KernelValues& values_;
  BlockEmitter& blocks_;
  PartialSums& sums_;
  std::vector<V> counters_;   // addresses, on the stack, of the current indices along the range's axes
  V tile_counter_ = nullptr;  // address of the current tile's number; null: the range has no tiles
};

}  // namespace smelt
