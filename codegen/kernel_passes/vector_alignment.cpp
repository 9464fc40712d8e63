#include "codegen/kernel_passes/vector_alignment.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Returns the steps of an access: every start of a vector is a sum of multiples of them.
std::vector<const Dim*> steps_between_starts(const Access& access, int inner) {
  std::vector<const Dim*> steps = {&access.offset};
  for (size_t axis = 0; axis < access.strides.size(); ++axis)
    if (static_cast<int>(axis) != inner) steps.push_back(&access.strides[axis]);
  if (access.computed >= 0) steps.push_back(&access.computed_stride);
  return steps;
}

bool is_multiple(const Dim& dim, int64_t elements) {
  return llvm::all_of(dim.terms(), [&](const Dim::Term& term) { return term.coefficient % elements == 0; });
}

}  // namespace

VectorAlignment vector_alignment(const Kernel& kernel, const KernelShape& shape, int id) {
  using When = VectorAlignment::When;
  const Access& access = kernel.instructions[id].access;
  const KernelParam& param = kernel.params[access.param];
  const int64_t size = size_of(param.dtype),
                bytes = std::min<int64_t>(16, kernel.schedule.vector_width * size), elements = bytes / size;
  VectorAlignment result;
  if (elements == 1) return result;
  result.when = param.alignment < bytes ? When::never : When::always;
  if (result.when == When::never) return result;
  for (const Dim* step : steps_between_starts(access, shape.inner)) {
    if (is_multiple(*step, elements)) continue;
    result.when = step->is_constant() ? When::never : When::sometimes;
    if (result.when == When::never) return result;
    result.conditions.push_back({*step, elements});
  }
  return result;
}

}  // namespace smelt
