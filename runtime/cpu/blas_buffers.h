// The buffers of OpenBLAS, of which each thread that multiplies uses one.
#pragma once

namespace smelt {

/// Ensures that `threads` threads can multiply concurrently. OpenBLAS maps a buffer when it first needs it
/// and retries forever if the system refuses; here that throws Error instead.
void hold_blas_buffers(int threads);

}  // namespace smelt
