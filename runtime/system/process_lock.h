// Locks between processes, as locks of files.
#pragma once

#include <filesystem>
#include <memory>

namespace smelt {

/// An exclusive lock of a file or directory (flock). It is released when this object is destroyed or when the
/// process ends; the file is not removed. If the file system does not support locks, the object holds no
/// lock, and no error is reported.
class ProcessLock {
 public:
  /// Creates the file if necessary, locks it, and writes the id of this process to it. If another process
  /// still holds the lock after one second, throws Error with the id of that process. If the file cannot be
  /// locked for another reason, logs a warning.
  explicit ProcessLock(const std::filesystem::path& file);
  /// Waits for the lock of a directory, and returns it. The lock is on the directory itself, so its owner may
  /// replace files in the directory. If the directory does not exist, the result holds no lock.
  static ProcessLock wait_for(const std::filesystem::path& directory);
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;
  ~ProcessLock();

 private:
  explicit ProcessLock(int directory);
  void take(const std::filesystem::path& file) const;
  void write_owner() const;

  int descriptor_;
};

/// Returns the lock of this process for `file`. Calls with the same file share one lock, which is released
/// when the last of their pointers is destroyed. Throws the errors of ProcessLock.
std::shared_ptr<const ProcessLock> shared_process_lock(const std::filesystem::path& file);

}  // namespace smelt
