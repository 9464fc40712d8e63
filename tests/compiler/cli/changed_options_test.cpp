#include "compiler/cli/shared/trainer_flags.h"

#include <gtest/gtest.h>

namespace smelt::cli {
namespace {

TEST(ChangedOptions, AreThoseThatChangeWhatIsComputed) {
  const Json before = {{"clip", 1}, {"precision", "fp32"}, {"lora", "r=4"}, {"keep", 3}, {"batch", 2}};
  const Json now = {{"clip", 1.0}, {"precision", "bf16"}, {"dropout", 0.5}, {"keep", 1}, {"batch", 4}};
  EXPECT_EQ(changed_options(before, now), "dropout none -> 0.5, lora r=4 -> none, precision fp32 -> bf16");
  EXPECT_EQ(changed_options(now, now), "");
  EXPECT_EQ(changed_options(nullptr, now), "") << "a file that is no JSON";
}

}  // namespace
}  // namespace smelt::cli
