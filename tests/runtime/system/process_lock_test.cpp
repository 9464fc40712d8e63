#include "runtime/system/process_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "runtime/base/error.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

/// A process that has the lock until it is killed.
class Holder {
 public:
  explicit Holder(const std::filesystem::path& file) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const ProcessLock lock(file);
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      ::pause();
    }
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]), ::close(ready[1]);
  }
  ~Holder() { end(); }
  pid_t process() const { return process_; }
  void end() {
    if (process_ > 0) ::kill(process_, SIGKILL), ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_;
};

TEST(ProcessLock, NamesTheProcessThatHasIt) {
  const TemporaryDirectory d;
  const Holder holder(d / "lock");
  EXPECT_HAS(message_of([&] { ProcessLock lock(d / "lock"); }),
             "process " + std::to_string(holder.process()) + " on ");
}

TEST(ProcessLock, EndsWithItsProcess) {
  const TemporaryDirectory d;
  Holder holder(d / "lock");
  holder.end();
  const ProcessLock lock(d / "lock");
}

TEST(ProcessLock, IsSharedWithinAProcess) {
  const TemporaryDirectory d;
  auto first = shared_process_lock(d / "lock");
  EXPECT_EQ(shared_process_lock(d.path() / "." / "lock"), first);
  first.reset();
  const Holder other(d / "lock");
  message_of([&] { shared_process_lock(d / "lock"); });
}

TEST(ProcessLock, OfADirectoryIsWaitedFor) {
  const TemporaryDirectory directory;
  std::atomic<bool> released = false;
  std::optional<std::thread> other;
  {
    const ProcessLock first = ProcessLock::wait_for(directory.path());
    other.emplace([&] {
      const ProcessLock second = ProcessLock::wait_for(directory.path());
      EXPECT_TRUE(released);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    released = true;
  }
  other->join();
  EXPECT_NO_THROW(ProcessLock::wait_for(directory.path() / "nowhere"));
}

}  // namespace
}  // namespace smelt
