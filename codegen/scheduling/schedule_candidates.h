// Other schedules for a kernel on a GPU: what a tuner measures.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "runtime/dim.h"

namespace smelt {

/// Of a kernel that has a schedule: first that one, then all others worth a try. Chunks of partial sums stay
/// as they are (buffers hold one slice each), and so does what is kept between blocks.
std::vector<Schedule> schedule_candidates(const Kernel& kernel, const Symbols& symbols);

}  // namespace smelt
