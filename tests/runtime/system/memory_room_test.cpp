#include "runtime/system/memory_room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <thread>

namespace smelt {
namespace {

constexpr size_t kMuch = size_t{1} << 60, kLittle = size_t{1} << 20;

TEST(MemoryRoom, RefusesWhatTheSystemCannotMap) {
  MemoryRoom room(kLittle);
  EXPECT_TRUE(room.has(kLittle));
  EXPECT_FALSE(room.has(kMuch));
  EXPECT_NO_THROW(room.require(kLittle));
  EXPECT_THROW(room.require(kMuch), std::bad_alloc);
  EXPECT_THROW(const auto claim = room.claim(kMuch), std::bad_alloc);
  EXPECT_NO_THROW(const auto claim = room.claim(kLittle));
}

TEST(MemoryRoom, KeepsItsSpareBytes) { EXPECT_FALSE(MemoryRoom(kMuch).has(0)); }

TEST(MemoryRoom, WaitsForOtherClaims) {
  MemoryRoom room(0);
  std::unique_ptr<MemoryRoom::Claim> first(new MemoryRoom::Claim(room.claim(kLittle)));
  std::atomic<bool> released = false;
  std::thread other([&] {
    EXPECT_THROW(const auto claim = room.claim(kMuch), std::bad_alloc);
    EXPECT_TRUE(released);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  released = true;
  first.reset();
  other.join();
}

}  // namespace
}  // namespace smelt
