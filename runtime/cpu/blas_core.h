// Which processor's kernels OpenBLAS takes. It settles that when it is loaded, and one that does not know a
// newer processor, as Debian 12's does not know Intel's of 2023, takes kernels of before AVX2, which multiply
// several times more slowly.
#pragma once

#include <string>

namespace smelt {

/// OpenBLAS's environment variable, which is read when the library is loaded.
inline constexpr const char* kBlasCoreVariable = "OPENBLAS_CORETYPE";

/// A value for that variable with which OpenBLAS multiplies faster on this processor; empty where it has
/// chosen well, or was told what to take.
std::string better_blas_core();

}  // namespace smelt
