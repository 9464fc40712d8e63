// Emission of random instructions, whose value is 16 random bits per element. One call of Philox (a
// counter-based generator) makes the bits of eight adjacent columns. If these columns run along the kernel's
// inner axis (its last column axis), the bits of a whole tile are drawn into an array on the stack, before
// the loop over the vectors of the tile.
#pragma once

#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/philox_code.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Emits the random bits of one kernel's random instructions.
class RandomEmitter {
 public:
  using V = llvm::Value*;

  explicit RandomEmitter(KernelContext& context) : c_(context), b(context.b), philox_(context.b) {}

  /// Returns whether the block has random instructions whose bits are drawn for a whole tile at a time.
  bool has_tile_draws(const BlockNest& nest) const;
  /// Draws the bits of the columns [KernelPlace::tile_first, limit) for those random instructions of the
  /// block whose bits are drawn for a whole tile at a time.
  void draw_tile(const BlockNest& nest, V limit);
  /// Returns the bits of a random instruction: one i32 per lane, below 65,536.
  V bits(int id);

 private:
  /// Returns whether the bits of the instruction are drawn for a whole tile at a time.
  bool draws_tile(const BlockNest& nest, int id) const;
  /// Returns whether the lanes of a vector have different row numbers for Philox (Philox::words).
  bool has_a_row_per_lane(const Instruction& x) const;
  V draw_array(int id, V limit);
  PhiloxStream stream_of(int id) const;
  V load_drawn(const Instruction& x, V array);
  V first_group(V column);
  V column(const Instruction& x);
  V row(const Instruction& x);
  V lane_rows(const Instruction& x);

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  PhiloxCode philox_;
  llvm::DenseMap<int, V> tiles_;  // the array of drawn bits of each instruction
};

}  // namespace smelt
