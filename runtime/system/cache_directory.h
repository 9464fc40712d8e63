// Where what is expensive to make again is kept between processes: plans, cubins, choices of GEMM algorithms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>

namespace smelt {

/// $SMELT_CACHE_DIR, or smelt in $XDG_CACHE_HOME, or ~/.cache/smelt; empty where none of them is set. It may
/// not exist, and whoever writes to it goes on without where that fails.
std::filesystem::path cache_directory();

/// As part of a file's name: all but letters and digits becomes '-'.
std::string file_name_part(std::string text);

struct CacheContents {
  std::filesystem::path directory;
  int64_t files = 0, bytes = 0;
  bool writable = false;  // as it is, or where it would be made
};
CacheContents cache_contents();

/// Writes these parts, one behind the other, to a file there: whole or not at all, whatever other processes
/// do meanwhile. Returns whether that went well; nothing is flushed to the disk, so readers look for damage.
bool write_cache_file(const std::filesystem::path& path,
                      std::initializer_list<std::span<const std::byte>> parts);
/// Removes the files of `directory` that were written or touched longest ago, until it holds `most_bytes`.
void trim_cache(const std::filesystem::path& directory, int64_t most_bytes);

}  // namespace smelt
