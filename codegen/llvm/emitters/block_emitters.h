// The emitters that the blocks of a kernel need, whatever its axes are.
#pragma once

#include "codegen/llvm/emitters/access_emitter.h"
#include "codegen/llvm/emitters/address_emitter.h"
#include "codegen/llvm/emitters/block_emitter.h"
#include "codegen/llvm/emitters/exponential_emitter.h"
#include "codegen/llvm/emitters/instruction_emitter.h"
#include "codegen/llvm/emitters/kernel_context.h"
#include "codegen/llvm/emitters/kernel_values.h"
#include "codegen/llvm/emitters/prefetch_emitter.h"
#include "codegen/llvm/emitters/random_emitter.h"
#include "codegen/llvm/emitters/reduction_emitter.h"

namespace smelt {

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
  BlockEmitters(const BlockEmitters&) = delete;  // they refer to one another

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
