// The options of compilation, and what is said of them.
#include "compiler/cli/compile_flags.h"

#include <gtest/gtest.h>

#include "runtime/cuda/driver.h"
#include "runtime/error.h"

namespace smelt::cli {
namespace {

std::string said_of(const char* target) {
  CompileFlags flags;
  flags.target = target;
  ::testing::internal::CaptureStderr();
  flags.options();
  return ::testing::internal::GetCapturedStderr();
}

CompileOptions options_for(const char* target) {
  CompileOptions options;
  options.target = target;
  return options;
}

TEST(Target, WithoutAGpuNativeIsTheCpuAndSaysSo) {
  if (cuda::device_count() > 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_NE(said_of("native").find("--target=native is the CPU here"), std::string::npos);
  EXPECT_EQ(said_of("cpu") + said_of("sm_90"), "");
  EXPECT_FALSE(resolved_target(options_for("native")).is_cuda());
}

TEST(Target, WithoutAGpuCudaIsRefused) {
  if (cuda::device_count() > 0) GTEST_SKIP() << "there is a GPU";
  try {
    resolved_target(options_for("cuda"));
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--target=cpu"), std::string::npos) << error.what();
  }
}

TEST(DefaultBounds, NameTheOptionsThatSetThem) {
  std::vector<Symbols::Bound> bounds = {{{"T"}, 64}, {{"B", "T"}, 512}};
  DefaultBounds defaults;
  EXPECT_EQ(defaults.text(), "");
  defaults.add(bounds, "T", 128, "--length");
  EXPECT_EQ(defaults.text(), "") << "--max says it already";
  defaults.add(bounds, "B", 4, "--batch");
  defaults.add(bounds, "S", 9, "the width of --data");
  EXPECT_EQ(defaults.text(), "B is set by --batch, S by the width of --data");
  ASSERT_EQ(bounds.size(), 4u);
  EXPECT_EQ(bounds[2].upper, 4);
}

}  // namespace
}  // namespace smelt::cli
