// The directory in which expensive results are kept between processes: plans, cubins, choices of GEMM
// algorithms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>

namespace smelt {

/// $SMELT_CACHE_DIR, or smelt in $XDG_CACHE_HOME, or ~/.cache/smelt; empty if none of them is set. It need
/// not exist; callers that cannot write to it continue without a cache.
std::filesystem::path cache_directory();

/// Returns the text as part of a file's name: all but letters and digits becomes '-'.
std::string file_name_part(std::string text);

struct CacheContents {
  std::filesystem::path directory;
  int64_t files = 0, bytes = 0;
  bool writable = false;  // as it is, or where it would be made
};
CacheContents cache_contents();

/// Writes these parts one after another to a file there, as a whole or not at all, whatever other processes
/// do meanwhile. Returns whether it succeeded; nothing is flushed to the disk, so readers must check for
/// damage.
bool write_cache_file(const std::filesystem::path& path,
                      std::initializer_list<std::span<const std::byte>> parts);
/// Removes the least recently used files of `directory` until it holds at most `most_bytes`.
void trim_cache(const std::filesystem::path& directory, int64_t most_bytes);

}  // namespace smelt
