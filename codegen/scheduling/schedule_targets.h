// Functions that `schedule` calls for each kind of target, and queries that these share.
#pragma once

#include "codegen/scheduling/schedule.h"

namespace smelt {

void schedule_for_cpu(Kernel& kernel, const Symbols& symbols);
void schedule_attention(Kernel& kernel, const Symbols& symbols, const Target& target);
void schedule_gemm(Kernel& kernel, const Symbols& symbols, const Target& target);
/// The next tiles in order of preference; false where there are none left.
bool take_lighter_tiles(Kernel& kernel);
void schedule_for_gpu(Kernel& kernel, const Symbols& symbols, const DeviceModel& device);

bool has_partials(const Kernel& kernel);
int count_axes(const Kernel& kernel, AxisKind kind);
/// The parallel range is the one column axis: nothing needs a whole row in one place.
bool can_be_flat(const Kernel& kernel);

}  // namespace smelt
