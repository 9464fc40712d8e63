// Properties of OpenBLAS: its kernels and its buffers.
#pragma once

#include <string>

namespace smelt {

// ---- blas_core.cpp
// Selection of the processor whose kernels OpenBLAS uses. It selects when it is loaded, and a version that
// does not recognize a newer processor (Debian 12's with Intel's of 2023) uses kernels from before AVX2,
// which multiply several times more slowly.

/// OpenBLAS's environment variable, which is read when the library is loaded.
inline constexpr const char* kBlasCoreVariable = "OPENBLAS_CORETYPE";

/// Returns a value for that variable with which OpenBLAS multiplies faster on this processor; empty if its
/// selection is good, or if the variable is set.
std::string better_blas_core();

// ---- blas_buffers.cpp
// The buffers of OpenBLAS, of which each thread that multiplies uses one.

/// Ensures that `threads` threads can multiply concurrently. OpenBLAS maps a buffer when it first needs it
/// and retries forever if the system refuses; here that throws Error instead.
void hold_blas_buffers(int threads);

}  // namespace smelt
