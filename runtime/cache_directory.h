// Where what is expensive to make again is kept between processes: cubins, choices of GEMM algorithms.
#pragma once

#include <filesystem>

namespace smelt {

/// $SMELT_CACHE_DIR, or smelt in $XDG_CACHE_HOME, or ~/.cache/smelt; empty where none of them is set. It may
/// not exist, and whoever writes to it goes on without where that fails.
std::filesystem::path cache_directory();

}  // namespace smelt
