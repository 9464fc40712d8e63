// What `schedule` calls for each kind of target, and what these share.
#pragma once

#include "codegen/scheduling/schedule.h"

namespace smelt {

void schedule_for_cpu(Kernel& kernel, const Symbols& symbols);
void schedule_attention(Kernel& kernel, int compute_capability);
void schedule_for_gpu(Kernel& kernel, const Symbols& symbols, const DeviceModel& device);

bool has_partials(const Kernel& kernel);
int count_axes(const Kernel& kernel, AxisKind kind);
/// The parallel range is the one column axis: nothing needs a whole row in one place.
bool can_be_flat(const Kernel& kernel);

}  // namespace smelt
