// The buffers of OpenBLAS, of which each thread that multiplies uses one.
#pragma once

namespace smelt {

/// Ensures that `threads` threads can multiply at the same time. OpenBLAS maps a buffer when it first needs
/// it and never stops trying where the system refuses; here that throws Error instead.
void hold_blas_buffers(int threads);

}  // namespace smelt
