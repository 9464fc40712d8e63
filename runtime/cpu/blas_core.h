// Selection of the processor whose kernels OpenBLAS uses. It selects when it is loaded, and a version that
// does not recognize a newer processor (Debian 12's with Intel's of 2023) uses kernels from before AVX2,
// which multiply several times more slowly.
#pragma once

#include <string>

namespace smelt {

/// OpenBLAS's environment variable, which is read when the library is loaded.
inline constexpr const char* kBlasCoreVariable = "OPENBLAS_CORETYPE";

/// Returns a value for that variable with which OpenBLAS multiplies faster on this processor; empty if its
/// selection is good, or if the variable is set.
std::string better_blas_core();

}  // namespace smelt
