// Execution of independent jobs by one thread per processor of the machine.
#pragma once

#include <cstddef>
#include <functional>

namespace smelt {

/// Runs job(0), job(1), ... job(count - 1) and returns when all have ended. After a job has thrown an
/// exception, or the calling thread was interrupted (runtime/base/interrupt.h), no further job begins. When
/// all running jobs have ended, throws the interruption's exception, or else that of the failed job with the
/// lowest number.
void in_parallel(size_t count, const std::function<void(size_t)>& job);

}  // namespace smelt
