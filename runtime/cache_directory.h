// Where what is expensive to make again is kept between processes: cubins, choices of GEMM algorithms.
#pragma once

#include <cstdint>
#include <filesystem>

namespace smelt {

/// $SMELT_CACHE_DIR, or smelt in $XDG_CACHE_HOME, or ~/.cache/smelt; empty where none of them is set. It may
/// not exist, and whoever writes to it goes on without where that fails.
std::filesystem::path cache_directory();

struct CacheContents {
  std::filesystem::path directory;
  int64_t files = 0, bytes = 0;
  bool writable = false;  // as it is, or where it would be made
};
CacheContents cache_contents();

}  // namespace smelt
