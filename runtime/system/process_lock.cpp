#include "runtime/system/process_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/system/log.h"

namespace smelt {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 1s;  // for the memory of a killed process to be given back
constexpr auto kPause = 20ms;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// Returns the text of the process that has the lock: "1234 on host".
std::string read_owner(int file) {
  std::array<char, 300> text{};
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  const std::string owner(text.data(), count > 0 ? static_cast<size_t>(count) : 0);
  return owner.empty() ? "another process" : "process " + owner.substr(0, owner.find('\n'));
}

}  // namespace

ProcessLock::ProcessLock(const std::filesystem::path& file)
    : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) fail_with(Status::io, "cannot open '{}': {}", file.string(), std::strerror(errno));
  try {
    take(file);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

ProcessLock::ProcessLock(int directory) : descriptor_(directory) {
  while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) continue;
}

ProcessLock ProcessLock::wait_for(const std::filesystem::path& directory) {
  return ProcessLock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void ProcessLock::take(const std::filesystem::path& file) const {
  const auto begin = std::chrono::steady_clock::now();
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK)
      return log(LogLevel::warning, "'{}' cannot be locked: {}", file.string(), std::strerror(errno));
    if (std::chrono::steady_clock::now() - begin > kPatience)
      fail("'{}': {} is at work in this directory: wait until it has ended, or choose another directory",
           file.parent_path().string(), read_owner(descriptor_));
    std::this_thread::sleep_for(kPause);
  }
  write_owner();
}

/// Writes the owner for messages only, so a full disk is ignored.
void ProcessLock::write_owner() const {
  const std::string owner = fmt::format("{} on {}\n", ::getpid(), host_name());
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, owner.data(), owner.size(), 0) != std::ssize(owner))
    log(LogLevel::warning, "the number of this process cannot be written to its lock");
}

ProcessLock::~ProcessLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::shared_ptr<const ProcessLock> shared_process_lock(const std::filesystem::path& file) {
  static std::mutex mutex;
  static std::map<std::filesystem::path, std::weak_ptr<const ProcessLock>> held;
  const std::scoped_lock guard(mutex);
  std::weak_ptr<const ProcessLock>& known = held[std::filesystem::weakly_canonical(file)];
  std::shared_ptr<const ProcessLock> lock = known.lock();
  if (!lock) known = lock = std::make_shared<const ProcessLock>(file);
  return lock;
}

}  // namespace smelt
