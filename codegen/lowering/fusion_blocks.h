// The blocks of a fusion's kernel. Each level of the iteration space (ir/analysis/iteration_space.h) has a
// row block and a block of columns, and further blocks if needed. They contain the level's reductions, its
// stores, and the accumulations of sums over rows.
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
  bool stands_behind_loop(const FusionStore& store, int level) const;
  int add_block(Scope scope);
  void append_behind(Scope scope, Instruction instruction);
  void store_last();
  void drop_empty_blocks();

  void reduce(const Node& node);
  void reduce_columns(const Node& node);
  void accumulate(const FusionSum& sum, Reduction kind, const Value& operand);
  int reduced_value(const Value& operand);
  Access chunk_access(const FusionSum& sum) const;

  void emit_store(const FusionStore& store, int level);
  void emit_insert(const FusionStore& store, const Node& insert);
  int ready_level(const Value& value) const;

  FusionKernel& fusion_;
  FusionValues values_;
  int row_ = 0, column_ = 0;  // numbers of the current level's blocks in Kernel::blocks
};

}  // namespace smelt
