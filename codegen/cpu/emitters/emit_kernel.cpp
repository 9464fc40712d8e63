#include "codegen/cpu/emitters/emit_kernel.h"

#include "codegen/cpu/emitters/block_emitters.h"
#include "codegen/cpu/emitters/partial_sums.h"
#include "codegen/cpu/emitters/range_emitter.h"

namespace smelt {
void emit_kernel(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits) {
  KernelContext context(kernel, kernel.name, module, traits);
  PartialSums sums(context);
  sums.begin();
  BlockEmitters emitters(context);
  RangeEmitter(context, emitters.values, emitters.blocks, sums).emit();
  sums.finish();
  context.b.CreateRetVoid();
  if (kernel.attention) emit_sees(kernel, module, traits);
}

}  // namespace smelt
