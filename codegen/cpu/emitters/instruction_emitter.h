// Emission of LLVM code for single instructions of a kernel. `id` is the number of an instruction in
// Kernel::instructions.
#pragma once

#include "codegen/cpu/emitters/access_emitter.h"
#include "codegen/cpu/emitters/exponential_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"
#include "codegen/cpu/emitters/random_emitter.h"
#include "codegen/cpu/emitters/reduction_emitter.h"

namespace smelt {

/// Calls the emitter for an instruction's kind, and records the value of the instruction in KernelValues.
class InstructionEmitter {
 public:
  using V = llvm::Value*;

  InstructionEmitter(KernelContext& context, KernelValues& values, AccessEmitter& accesses,
                     RandomEmitter& random, ExponentialEmitter& exponentials, ReductionEmitter& reductions)
      : c_(context),
        values_(values),
        accesses_(accesses),
        random_(random),
        exponentials_(exponentials),
        reductions_(reductions) {}

  /// Emits instruction `id` of the block with the loops `nest`, at the builder's current position.
  void emit(const BlockNest& nest, int id);
  /// Emits those instructions of a block that belong at one depth of its loop nest. Depth 0 is before all
  /// loops, and depth 1 is in the outermost loop.
  void emit_depth(const BlockNest& nest, int depth);

 private:
  void emit_kind(const BlockNest& nest, int id);
  V constant(const Instruction& x);
  V converted(const Instruction& x);
  V scalar(int id);
  V operand(const Instruction& x, int i) { return values_.value_of(x.operands[i]); }

  KernelContext& c_;
  KernelValues& values_;
  AccessEmitter& accesses_;
  RandomEmitter& random_;
  ExponentialEmitter& exponentials_;
  ReductionEmitter& reductions_;
};

}  // namespace smelt
