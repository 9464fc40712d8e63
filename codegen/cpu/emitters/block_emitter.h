// The loop nest of a block of a kernel (KernelBlock in ir/kernel/kernel.h). The innermost loop iterates over
// the vectors of the inner axis, the kernel's last column axis. If an instruction works on whole tiles of
// columns, the innermost loop is inside a loop over tiles.
#pragma once

#include "codegen/cpu/emitters/address_emitter.h"
#include "codegen/cpu/emitters/instruction_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"
#include "codegen/cpu/emitters/kernel_values.h"
#include "codegen/cpu/emitters/random_emitter.h"
#include "codegen/cpu/emitters/reduction_emitter.h"

namespace smelt {

/// Emits the loops and instructions of the blocks of one kernel, one block at a time.
class BlockEmitter {
 public:
  using V = llvm::Value*;

  BlockEmitter(KernelContext& context, KernelValues& values, AddressEmitter& addresses, RandomEmitter& random,
               ReductionEmitter& reductions, InstructionEmitter& instructions)
      : c_(context),
        b(context.b),
        values_(values),
        addresses_(addresses),
        random_(random),
        reductions_(reductions),
        instructions_(instructions) {}

  /// Emits all loops and instructions of the block for one item of the kernel's range (range_emitter.h).
  void emit(const KernelBlock& block);

 private:
  // Emit parts of the loop nest. `first` and `limit` are the begin and the end of a range of columns (i64);
  // `mask` selects the lanes of a vector that exist (null: all).
  void emit_loops(const BlockNest& nest, int depth);
  void emit_innermost(const BlockNest& nest);
  void emit_tile(const BlockNest& nest, V first, V limit);
  void emit_vectors(const BlockNest& nest, V first, V limit);
  void emit_vector(const BlockNest& nest, V first, V mask);
  void emit_body(const BlockNest& nest);

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  KernelValues& values_;
  AddressEmitter& addresses_;
  RandomEmitter& random_;
  ReductionEmitter& reductions_;
  InstructionEmitter& instructions_;
};

}  // namespace smelt
