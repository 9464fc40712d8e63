// A lock that one process has at a time, and for as long as it lives.
#pragma once

#include <filesystem>
#include <memory>

namespace smelt {

/// The lock of a file, which holds the number of the process that has it. It ends when it is destroyed and
/// when its process ends, in whatever way; the file stays. Where the file system has no locks, nothing is
/// held, and the log says so.
class ProcessLock {
 public:
  /// Throws Error naming the other process where one has the lock; waits a moment for one that is about to
  /// end.
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

/// The lock of this process, which all parts of it that ask for the same file share.
std::shared_ptr<const ProcessLock> shared_process_lock(const std::filesystem::path& file);

}  // namespace smelt
