// The lowerings that RowLowering and TileLowering share, for the blocks of one kernel. A lowering appends
// thread IR to the code of the kernel.
#pragma once

#include "codegen/gpu/lower/address_lowering.h"
#include "codegen/gpu/lower/instruction_lowering.h"
#include "codegen/gpu/lower/lowering_context.h"
#include "codegen/gpu/lower/prefetch_lowering.h"
#include "codegen/gpu/lower/reduction_lowering.h"
#include "codegen/gpu/lower/vector_lowering.h"

namespace smelt::gpu {

struct BlockLowerings {
  explicit BlockLowerings(LoweringContext& context)
      : addresses(context),
        reductions(context),
        prefetch(context, addresses),
        instructions(context, addresses, reductions),
        vectors(context, addresses, prefetch, instructions, reductions) {}
  BlockLowerings(const BlockLowerings&) = delete;  // its members refer to one another

  AddressLowering addresses;
  ReductionLowering reductions;
  PrefetchLowering prefetch;
  InstructionLowering instructions;
  VectorLowering vectors;
};

}  // namespace smelt::gpu
