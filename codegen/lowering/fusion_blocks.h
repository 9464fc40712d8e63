// The blocks of a fusion's kernel. The nodes of the fusion are divided into levels
// (ir/analysis/iteration_space.h): level 0 needs no result of a reduction along the row, level 1 needs one of
// level 0, and so on. Each level has a row block, which is executed once per row, and a column block, which
// is executed for each column. If the kernel has reduced axes, the column block of level 0 is replaced by a
// reduced block, which is executed for each column and each index of these axes. Code that must run after
// these blocks is in further blocks. The blocks contain the level's reductions, its stores, and its
// accumulations of sums over rows.
#pragma once

#include <vector>

#include "codegen/lowering/fusion_kernel.h"
#include "codegen/lowering/fusion_values.h"

namespace smelt {

class FusionBlocks {
 public:
  explicit FusionBlocks(FusionKernel& fusion) : fusion_(fusion), values_(fusion) {}

  /// Adds the blocks of all levels to the kernel.
  void emit();
  /// Returns the random draws of the kernel; complete after `emit`.
  const RandomDraws& draws() const { return values_.draws(); }

 private:
  using Scope = KernelBlock::Scope;
  using Kind = Instruction::Kind;
  using Reduction = IterationSpace::Reduction;

  void emit_level(int level);
  /// Returns whether a store must be in a block after the reduced block, because its value does not change
  /// along the reduced axes.
  bool stands_behind_loop(const FusionStore& store, int level) const;
  int add_block(Scope scope);
  /// Appends an instruction to a new block after the level's blocks.
  void append_behind(Scope scope, Instruction instruction);
  /// Moves the stores to the end of their blocks.
  void store_last();
  void drop_empty_blocks();

  void reduce(const Node& node);
  void reduce_columns(const Node& node);
  void accumulate(const FusionSum& sum, Reduction kind, const Value& operand);
  int reduced_value(const Value& operand);
  Access chunk_access(const FusionSum& sum) const;

  void emit_store(const FusionStore& store, int level);
  void emit_insert(const FusionStore& store, const Node& insert);
  /// Returns the first level whose blocks can read the value.
  int ready_level(const Value& value) const;

  FusionKernel& fusion_;
  FusionValues values_;
  int row_ = 0, column_ = 0;  // numbers of the current level's blocks in Kernel::blocks
};

}  // namespace smelt
