// Settings of OpenBLAS: the choice of its kernels, and its buffers.
#pragma once

#include <string>

namespace smelt {

// ---- blas_core.cpp
// When OpenBLAS is loaded, it selects its kernels for the processor that it recognizes. If OpenBLAS is older
// than the processor, it may not recognize the processor. It then selects kernels without AVX2, which are
// several times slower.

/// Environment variable of OpenBLAS that overrides the selection. OpenBLAS reads it when it is loaded.
inline constexpr const char* kBlasCoreVariable = "OPENBLAS_CORETYPE";

/// Returns a value for this variable with which OpenBLAS multiplies faster on this processor. Returns "" if
/// OpenBLAS itself selects good kernels, or if the variable is set already.
std::string better_blas_core();

// ---- blas_buffers.cpp
// Buffers of OpenBLAS: each thread that multiplies uses one.

/// Lets OpenBLAS map the buffers of `threads` threads now, so that they can multiply concurrently later.
/// Throws Error (out_of_memory) if the system refuses the memory, because OpenBLAS itself would try again
/// forever.
void hold_blas_buffers(int threads);

}  // namespace smelt
