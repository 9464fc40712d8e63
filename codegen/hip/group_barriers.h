// Barriers of thread groups on GPUs without named barriers: counters in shared memory, which the launch's
// code must set to 0 at its beginning (sm_barrier in codegen/hip/device/prelude/threads.cuh).
//
//   before: sm_barrier(group, 128)    after: sm_start_group_barriers()  ...  sm_barrier(group, 128)
#pragma once

#include <string>

#include "codegen/gpu/thread_ir/function.h"

namespace smelt {

/// Returns the reason why a group has no barrier: it does not consist of whole waves. "" if all have one.
std::string why_no_group_barriers(const gpu::Launch& launch);
/// Returns the launch with a call of sm_start_group_barriers before its code if there is a barrier of a
/// group.
gpu::Launch with_group_barriers(gpu::Launch launch);

}  // namespace smelt
