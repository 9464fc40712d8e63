// One process at a time: for files that several read, change and write.
#pragma once

#include <filesystem>

namespace smelt {

/// Waits for the lock of a directory and holds it until destroyed; files in it may be replaced meanwhile.
/// Where there is no such directory nothing is held.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::filesystem::path& directory);
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock();

 private:
  int descriptor_ = -1;
};

}  // namespace smelt
