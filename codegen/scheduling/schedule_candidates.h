// Other schedules for a kernel on a GPU, for a tuner to measure.
#pragma once

#include <vector>

#include "ir/kernel/kernel.h"
#include "runtime/base/dim.h"

namespace smelt {

/// Returns the schedules to measure for a scheduled kernel: its own schedule first, then all others worth a
/// try. The chunks of partial sums do not change (buffers hold one slice each), nor do the values that are
/// kept between blocks.
std::vector<Schedule> schedule_candidates(const Kernel& kernel, const Symbols& symbols);

}  // namespace smelt
