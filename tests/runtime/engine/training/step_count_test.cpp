#include "runtime/engine/training/step_count.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

TEST(StepCount, TextsRoundTrip) {
  for (const char* text : {"0", "20", "10%", "0.5%", "100%"})
    EXPECT_EQ(to_text(parse_step_count(text).value()), text);
  for (const char* text : {"", "%", "-1", "0.1", "101%", "-5%", "10 %", "ten", "nan%"})
    EXPECT_FALSE(parse_step_count(text)) << text;
}

TEST(StepCount, AShareIsRoundedUp) {
  EXPECT_EQ(StepCount(7).of(100), 7);
  EXPECT_EQ(share_of_steps(0.1).of(101), 11);
  for (const int64_t total : {10, 30, 70, 1000}) EXPECT_EQ(share_of_steps(0.1).of(total), total / 10);
}

}  // namespace
}  // namespace smelt
