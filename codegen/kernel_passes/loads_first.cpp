#include "codegen/kernel_passes/kernel_passes.h"

#include "codegen/kernel_passes/kernel_shape.h"

namespace smelt {
namespace {

bool reads_vectors_alone(const Kernel& kernel, const KernelShape& shape, const KernelBlock& block) {
  const BlockNest nest = shape.nest_of(block);
  int loads = 0;
  for (int id : block.instructions) {
    if (nest.depth.lookup(id) > 0 && !nest.in_vectors(id)) return false;
    if (kernel.instructions[id].access.param < 0 || !nest.in_vectors(id)) continue;
    if (!shape.is_vector_load(id)) return false;
    ++loads;
  }
  return loads > 0;
}

}  // namespace

void put_loads_first(Kernel& kernel) {
  if (kernel.schedule.unroll <= 1) return;
  const KernelShape shape(kernel);
  for (KernelBlock& block : kernel.blocks)
    if (block.scope == KernelBlock::Scope::reduced)
      block.loads_first = reads_vectors_alone(kernel, shape, block);
}

}  // namespace smelt
