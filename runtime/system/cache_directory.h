// Cache directory: files with expensive results that later processes reuse, such as plans, cubins and choices
// of GEMM algorithms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>

namespace smelt {

/// Returns $SMELT_CACHE_DIR, or else $XDG_CACHE_HOME/smelt, or else $HOME/.cache/smelt; an empty path if none
/// of these variables is set. The directory may not exist. Callers that cannot write to it work without a
/// cache.
std::filesystem::path cache_directory();

/// Returns the text in a form that is valid in a file name: all characters except ASCII letters and digits
/// are replaced by '-'.
std::string file_name_part(std::string text);

/// Contents of the cache directory: its path, and the number and total size of the files in it and in its
/// subdirectories.
struct CacheContents {
  std::filesystem::path directory;
  int64_t files = 0, bytes = 0;
  bool writable = false;  // the directory is writable, or can be created
};
CacheContents cache_contents();

/// Writes the concatenation of `parts` to the file `path`, and creates its directory. Other processes see the
/// previous file or all of the new one. Returns whether it succeeded. The data are not flushed to the disk,
/// so readers must check for damage after a crash.
bool write_cache_file(const std::filesystem::path& path,
                      std::initializer_list<std::span<const std::byte>> parts);
/// Removes files directly in `directory`, those with the oldest modification time first, until the others
/// have at most `most_bytes` bytes.
void trim_cache(const std::filesystem::path& directory, int64_t most_bytes);

}  // namespace smelt
