// Cubins on the disk: files named by a hash of their sources, each with a checksum of its own. A cache that
// cannot be read or written is not an error: kernels are compiled again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/cuda/nvrtc.h"

namespace smelt {

class CubinCache {
 public:
  /// SMELT_CACHE_DIR, else XDG_CACHE_HOME/smelt, else ~/.cache/smelt; nothing if none of them is set.
  static std::optional<std::filesystem::path> default_directory();

  explicit CubinCache(std::optional<std::filesystem::path> directory) : directory_(std::move(directory)) {}

  /// 32 hexadecimal digits for everything that the machine code depends on.
  static std::string key(const std::string& everything);
  /// Nothing if there is no such entry or where it is damaged.
  std::optional<Cubin> read(const std::string& key) const;
  /// Written as a whole or not at all, whatever other processes do.
  void write(const std::string& key, const Cubin& cubin) const;
  std::filesystem::path file(const std::string& key) const;

 private:
  std::optional<std::filesystem::path> directory_;
};

}  // namespace smelt
