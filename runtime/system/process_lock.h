// A lock that one process has at a time, and for as long as it lives.
#pragma once

#include <filesystem>
#include <memory>

namespace smelt {

/// The lock of a file, which contains the id of the process that holds it. It ends when it is destroyed or
/// when its process ends; the file stays. If the file system has no locks, nothing is locked, and this is
/// logged.
class ProcessLock {
 public:
  /// Throws Error naming the other process if one has the lock; waits a moment for one that is about to end.
  explicit ProcessLock(const std::filesystem::path& file);
  /// Waits for the lock of a directory, whose files may be replaced meanwhile. Where there is no such
  /// directory nothing is held.
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

/// Returns the lock of this process; all parts of it that request the same file share it.
std::shared_ptr<const ProcessLock> shared_process_lock(const std::filesystem::path& file);

}  // namespace smelt
