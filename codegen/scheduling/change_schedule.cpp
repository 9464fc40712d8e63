// Another schedule for a kernel of a GPU that has one.
#include <algorithm>

#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/launches/launch_passes.h"
#include "codegen/scheduling/schedule_gpu.h"

namespace smelt {

void take_schedule(Kernel& kernel, const Schedule& schedule) {
  kernel.schedule = schedule;
  fit_tails(kernel);
  legalize_for_gpu(kernel);
}

bool lighten_schedule(Kernel& kernel) {
  if (kernel.attention) return take_lighter_tiles(kernel);
  if (kernel.gemm) return false;
  Schedule& s = kernel.schedule;
  const bool reduced = count_axes(kernel, AxisKind::reduced) > 0;
  if (s.unroll > 1) {
    s.unroll = 1;
  } else if (!reduced && s.threads > kFlatThreads && s.team <= kFlatThreads) {
    s.threads = kFlatThreads;
    if (s.splits == 0) s.grain = s.threads / s.team;
  } else if (kernel.in_order && !s.flat) {
    return false;
  } else if (s.vector_width > 1) {
    s.vector_width /= 2, s.vectors *= 2;
    if (reduced) s.tile /= 2;
  } else if (!reduced && !s.flat && s.vectors > 1 && s.team < kLargestTeam) {
    s.team *= 2, s.vectors = (s.vectors + 1) / 2;
    s.threads = std::max(s.threads, s.team);
    if (s.splits == 0) s.grain = s.threads / s.team;
  } else {
    return false;
  }
  fit_tails(kernel);
  legalize_for_gpu(kernel);
  return true;
}

}  // namespace smelt
