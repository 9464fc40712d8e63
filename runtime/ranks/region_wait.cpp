#include "runtime/ranks/region_wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <thread>

#include "runtime/base/error.h"

namespace smelt {
namespace {

enum FailureStage : uint32_t { kNoFailure, kWritingFailure, kFailed };

constexpr int kSpins = 2000;  // some ten microseconds, where each member has a processor of its own
constexpr long kNanosecondsOfASleep = 20'000'000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

long futex(const std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  return ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

RegionWait::RegionWait(GroupState& group, size_t members, const FailureFlag& failure)
    : group_(group),
      members_(static_cast<uint32_t>(members)),
      failure_(failure),
      spins_(members <= std::thread::hardware_concurrency() ? kSpins : 0) {}

void RegionWait::wake_all(std::atomic<uint32_t>& word) { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

void RegionWait::check() const {
  failure_.check();
  if (group_.failed.load(std::memory_order_acquire) == kFailed)
    fail_with(Status::unavailable, "{}", group_.failure.data());
}

void RegionWait::wait_changed(const std::atomic<uint32_t>& word, uint32_t old,
                              const std::function<void()>& is_vain) {
  for (int i = 0; i < spins_; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    relax();
  }
  while (word.load(std::memory_order_acquire) == old) {
    check();
    if (is_vain) is_vain();
    const timespec sleep = {0, kNanosecondsOfASleep};
    futex(word, FUTEX_WAIT, old, &sleep);
  }
}

void RegionWait::barrier() {
  check();
  const uint32_t generation = group_.generation.load(std::memory_order_acquire);
  if (group_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < members_)
    return wait_changed(group_.generation, generation);
  group_.arrived.store(0, std::memory_order_relaxed);
  group_.generation.store(generation + 1, std::memory_order_release);
  wake_all(group_.generation);
}

void RegionWait::fail_group(const std::string& text) {
  uint32_t expected = kNoFailure;
  if (group_.failed.compare_exchange_strong(expected, kWritingFailure)) {
    const size_t length = std::min(text.size(), group_.failure.size() - 1);
    std::copy_n(text.data(), length, group_.failure.data());
    group_.failed.store(kFailed, std::memory_order_release);
  }
  check();
  fail_with(Status::unavailable, "{}", text);
}

}  // namespace smelt
