// The code for a vector of columns: whole-vector loads, a loop over its elements, whole-vector stores.
#pragma once

#include <map>
#include <optional>

#include "codegen/gpu/lower/address_lowering.h"
#include "codegen/gpu/lower/instruction_lowering.h"
#include "codegen/gpu/lower/lowering_context.h"
#include "codegen/gpu/lower/prefetch_lowering.h"
#include "codegen/gpu/lower/reduction_lowering.h"

namespace smelt::gpu {

class VectorLowering {
 public:
  VectorLowering(LoweringContext& context, AddressLowering& addresses, const PrefetchLowering& prefetch,
                 InstructionLowering& instructions, ReductionLowering& reductions)
      : c_(context),
        addresses_(addresses),
        prefetch_(prefetch),
        instructions_(instructions),
        reductions_(reductions) {}

  /// Forgets the loads of the previous block. Called before the first vector of a block is lowered.
  void begin_block() { loaded_.clear(); }
  /// Appends declarations of the arrays that vectors are loaded to. `slots`: their first dimension, the
  /// vectors in flight; nothing for one vector.
  void declare_loads(const BlockNest& nest, std::optional<int64_t> slots = {});
  /// Appends the loads of one vector. `slot`: the index of the vector in the first dimension of the arrays;
  /// nothing for one vector.
  void lower_loads(const BlockNest& nest, const Expr& slot = {});
  /// Appends all other code for one vector: whole-vector operations before the loop over its elements, that
  /// loop, and whole-vector operations after it. `slot`: the number of the vector among those in registers.
  void lower_vector(const BlockNest& nest, const Expr& slot = {});

  /// Appends declarations of the registers that keep the block's column values for later blocks
  /// (Schedule::cached).
  void declare_kept(const KernelBlock& block);
  /// Returns whether the block has whole-vector loads.
  bool has_loads(const BlockNest& nest) const;

 private:
  bool loads_by_vector(const BlockNest& nest, int id) const;
  Expr source_of_load(int id) const;
  Expr target_of_load(int id, const Expr& slot) const;
  void declare_whole(const BlockNest& nest, int id);
  void finish_whole(const BlockNest& nest, int id);
  void lower_lanes(const BlockNest& nest);
  void bind_values(const BlockNest& nest);
  void lower_lane_instruction(const BlockNest& nest, int id);
  Expr kept_vector(int id) const;
  Expr kept_value(int id) const;
  void keep(int id);
  void set_inner_index(const Expr& index);

  LoweringContext& c_;
  AddressLowering& addresses_;
  const PrefetchLowering& prefetch_;
  InstructionLowering& instructions_;
  ReductionLowering& reductions_;
  std::map<int, Expr> loaded_;  // by number of a load: the array that lower_loads has loaded
};

}  // namespace smelt::gpu
