// Cache of cubins (compiled GPU code) on disk. A file is named after the key of its cubin, and contains a
// checksum. If the cache cannot be read or written, there is no error, and kernels are compiled again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/cuda/nvrtc.h"

namespace smelt {

class CubinCache {
 public:
  /// Returns $SMELT_CACHE_DIR, else $XDG_CACHE_HOME/smelt, else $HOME/.cache/smelt; nothing if none of these
  /// variables is set.
  static std::optional<std::filesystem::path> default_directory();

  /// `directory`: nothing means that there is no cache, so that read() finds nothing and write() does
  /// nothing.
  explicit CubinCache(std::optional<std::filesystem::path> directory) : directory_(std::move(directory)) {}

  /// Returns the key of a cubin: a hash, 32 hexadecimal digits. `everything` is a text of all that the
  /// machine code depends on: source, options and versions.
  static std::string key(const std::string& everything);
  /// Returns the cubin with this key; nothing if there is none or its file is damaged.
  std::optional<Cubin> read(const std::string& key) const;
  /// Writes the cubin. The file appears as a whole or not at all, also if other processes write it at the
  /// same time.
  void write(const std::string& key, const Cubin& cubin) const;
  /// Returns the path of the file for a key. Requires: there is a directory.
  std::filesystem::path file(const std::string& key) const;

 private:
  std::optional<std::filesystem::path> directory_;
};

}  // namespace smelt
