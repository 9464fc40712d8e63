// The BlockEmitter of one kernel, which emits the LLVM code of the kernel's blocks (block_emitter.h),
// together with all emitters that it uses.
#pragma once

#include "codegen/cpu/emitters/access_emitter.h"
#include "codegen/cpu/emitters/address_emitter.h"
#include "codegen/cpu/emitters/block_emitter.h"
#include "codegen/cpu/emitters/exponential_emitter.h"
#include "codegen/cpu/emitters/instruction_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"
#include "codegen/cpu/emitters/prefetch_emitter.h"
#include "codegen/cpu/emitters/random_emitter.h"
#include "codegen/cpu/emitters/reduction_emitter.h"

namespace smelt {

/// Owner of one BlockEmitter, `blocks`, and of the emitters to which it refers.
struct BlockEmitters {
  explicit BlockEmitters(KernelContext& context)
      : values(context),
        addresses(context, values),
        accesses(context, values, addresses),
        random(context),
        prefetches(context, addresses),
        exponentials(context, prefetches),
        reductions(context, values, exponentials),
        instructions(context, values, accesses, random, exponentials, reductions),
        blocks(context, values, addresses, random, reductions, instructions) {}
  BlockEmitters(const BlockEmitters&) = delete;  // its members refer to one another

  KernelValues values;
  AddressEmitter addresses;
  AccessEmitter accesses;
  RandomEmitter random;
  PrefetchEmitter prefetches;
  ExponentialEmitter exponentials;
  ReductionEmitter reductions;
  InstructionEmitter instructions;
  BlockEmitter blocks;
};

}  // namespace smelt
