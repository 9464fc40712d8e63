// Independent jobs on all threads of the machine.
#pragma once

#include <cstddef>
#include <functional>

namespace smelt {

/// Runs job(0), job(1), ... job(count - 1). Once a job fails, or the caller is interrupted
/// (runtime/base/interrupt.h), no further job begins. The interruption, or the failure of the job with the
/// lowest number, is thrown after all running jobs have ended.
void in_parallel(size_t count, const std::function<void(size_t)>& job);

}  // namespace smelt
