#include "runtime/system/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override { set_log({}); }
};

TEST_F(Log, TellsWhoListens) {
  log(LogLevel::info, "nobody hears {}", 1);
  std::vector<std::string> heard;
  set_log([&](LogLevel level, std::string_view text) {
    heard.push_back(std::to_string(static_cast<int>(level)) + std::string(text));
  });
  log(LogLevel::warning, "look at {}", 2);
  set_log({});
  log(LogLevel::info, "nobody hears {}", 3);
  EXPECT_EQ(heard, std::vector<std::string>{"2look at 2"});
}

TEST_F(Log, AListenersOwnWorkIsNotToldToIt) {
  int calls = 0;
  std::string fault;
  set_log([&](LogLevel, std::string_view) {
    ++calls;
    log(LogLevel::info, "again");
    fault = message_of([] { set_log({}); });
    throw std::runtime_error("passed over");
  });
  log(LogLevel::info, "once");
  EXPECT_EQ(calls, 1);
  EXPECT_HAS(fault, "listener");
}

TEST_F(Log, ManyThreadsMayTellWhileListenersChange) {
  std::atomic<int> heard = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int n = 0; n < 200; ++n) log(LogLevel::debug, "number {}", n);
      });
    for (int i = 0; i < 50; ++i) {
      int own = 0;  // ended before the next: nobody calls the listener then
      std::atomic<int> calls = 0;
      set_log([&](LogLevel, std::string_view) { ++calls, ++heard; });
      set_log({});
      own = calls;
      EXPECT_EQ(own, calls);
    }
  }
}

}  // namespace
}  // namespace smelt
