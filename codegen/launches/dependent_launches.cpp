#include "codegen/launches/launch_passes.h"

#include <algorithm>

namespace smelt {
namespace {

/// Returns whether a kernel can wait. The only template that can is the one for decode attention, because it
/// runs between two matmuls of every token.
bool can_wait(const Kernel& kernel) {
  return !kernel.has_template() || (kernel.attention && kernel.attention->few());
}

bool mark(Kernel& kernel) {
  const bool changes = !kernel.waits && can_wait(kernel);
  kernel.waits |= changes;
  return changes;
}

}  // namespace

bool keeps_tokens(const Program& program, const PlanEntry& entry) {
  return std::ranges::any_of(entry.steps, [&](const Step& step) {
    return std::ranges::any_of(step.writes, [&](int written) {
      const auto buffer = static_cast<size_t>(written);
      return buffer < program.buffers.size() && program.buffers[buffer].role == Role::cache;
    });
  });
}

bool mark_dependent_launches(Program& program) {
  bool changed = false;
  for (const PlanEntry& entry : program.entries) {
    if (!keeps_tokens(program, entry)) continue;
    for (const Step& step : entry.steps)
      if (const auto* launch = std::get_if<KernelStep>(&step.what))
        changed |= mark(program.kernels[static_cast<size_t>(launch->kernel)]);
  }
  return changed;
}

}  // namespace smelt
