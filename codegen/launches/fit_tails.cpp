#include "codegen/launches/launch_passes.h"

#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Results of a tail, and numbers that each is made of. Rows without a reduced axis are one thread's work.
constexpr int64_t kMostResults = 32, kMostReduced = 1024;

/// The product of the constant extents of one kind.
int64_t extent_of(const Kernel& kernel, AxisKind kind) {
  int64_t product = 1;
  for (const KernelAxis& axis : kernel.axes)
    if (axis.kind == kind) product *= axis.extent.constant().value();
  return product;
}

bool is_fixed(const Kernel& kernel) {
  return launch_dims(kernel).empty() && llvm::all_of(kernel.axes, [](const KernelAxis& axis) {
           return axis.extent.is_constant() && axis.begin < 0 && axis.end < 0 &&
                  *axis.extent.constant() >= 1 && *axis.extent.constant() <= kMostReduced;
         });
}

}  // namespace

bool can_be_tail(const Kernel& kernel) {
  const Schedule& s = kernel.schedule;
  const bool plain = kernel.random_slots == 0 && kernel.copies == 1 && kernel.tail.empty() &&
                     !has_partials(kernel) && s.splits == 0 && s.cached.empty();
  if (!plain || !is_fixed(kernel)) return false;
  const int64_t rows = extent_of(kernel, AxisKind::parallel), columns = extent_of(kernel, AxisKind::column);
  const bool reduced = count_axes(kernel, AxisKind::reduced) > 0;
  return (reduced || rows == 1) && rows * columns <= kMostResults &&
         extent_of(kernel, AxisKind::reduced) <= kMostReduced;
}

void fit_tails(Kernel& kernel) {
  for (Kernel& last : kernel.tail) {
    const bool reduced = count_axes(last, AxisKind::reduced) > 0;
    Schedule s;
    s.vector_width = s.team = 1, s.tile = 1;
    s.threads = kernel.schedule.threads, s.index32 = kernel.schedule.index32;
    s.unroll = reduced ? 4 : 1;
    last.schedule = s;
    last.schedule.grain = reduced ? last.range().constant().value() : s.threads;
    legalize_for_gpu(last);
  }
}

}  // namespace smelt
