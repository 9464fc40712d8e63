// A lock that one process has for as long as it lives.
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
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;
  ~ProcessLock();

 private:
  void take(const std::filesystem::path& file) const;
  void write_owner() const;

  int descriptor_;
};

/// The lock of this process, which all parts of it that ask for the same file share.
std::shared_ptr<const ProcessLock> shared_process_lock(const std::filesystem::path& file);

}  // namespace smelt
