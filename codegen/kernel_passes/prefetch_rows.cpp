#include "codegen/kernel_passes/kernel_passes.h"

#include "codegen/kernel_passes/vector_alignment.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

constexpr int64_t kMostBytes = 40 << 10;  // of the 48 KiB of shared memory that a block has without asking

}  // namespace

int64_t vector_bytes(const Kernel& kernel, int id) {
  return kernel.schedule.vector_width * size_of(kernel.params[kernel.instructions[id].access.param].dtype);
}

bool can_be_early(const Kernel& kernel, const KernelShape& shape, int id) {
  const Instruction& x = kernel.instructions[id];
  if (shape.columns.size() != 1 || !shape.is_vector_load(id) || !shape.has_whole_vectors()) return false;
  if (x.predicate >= 0 || x.access.computed >= 0 || kernel.params[x.access.param].output) return false;
  return vector_bytes(kernel, id) >= 4 &&
         vector_alignment(kernel, shape, id).when == VectorAlignment::When::always;
}

bool can_be_prefetched(const Kernel& kernel, const KernelShape& shape, int id) {
  const std::vector<Dim>& strides = kernel.instructions[id].access.strides;
  return can_be_early(kernel, shape, id) &&
         llvm::any_of(shape.parallel, [&](int axis) { return !strides[axis].is_zero(); });
}

void prefetch_rows(Kernel& kernel) {
  const Schedule& s = kernel.schedule;
  if (s.prefetch_distance == 0 || s.splits == 0 || s.flat || s.vectors == 0) return;
  const KernelShape shape(kernel);
  int64_t taken = 0;
  for (const KernelBlock& block : kernel.blocks) {
    if (block.scope != KernelBlock::Scope::column) continue;
    for (int id : block.instructions) {
      Instruction& x = kernel.instructions[id];
      if (x.form == Form::prefetched || !can_be_prefetched(kernel, shape, id)) continue;
      const int64_t bytes = vector_bytes(kernel, id) * s.vectors * s.threads;
      if ((taken + bytes) * (s.prefetch_distance + 1) > kMostBytes) continue;
      x.form = Form::prefetched;
      taken += bytes;
    }
  }
}

}  // namespace smelt
