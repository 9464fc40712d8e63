// The options of compilation, and what is said of them.
#include "compiler/cli/shared/compile_flags.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "compiler/driver/option_table.h"
#include "runtime/base/error.h"
#include "runtime/cuda/driver.h"

namespace smelt::cli {
namespace {

std::string said_of(const char* target) {
  CompileFlags flags;
  flags.values.target = target;
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
  EXPECT_FALSE(resolved_target(options_for("native")).can.own_memory);
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

void expect_refused(const CompileFlags& flags, const std::string& part) {
  try {
    flags.options();
    FAIL() << "expected an Error with '" << part << "'";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(CompileFlags, RefuseNumbersThatNoUpdateRuleTakes) {
  const auto expect = [](const char* option, const char* value, const char* part) {
    CompileFlags flags;
    find_option(option)->set(flags.values, value);
    expect_refused(flags, part);
  };
  expect("beta1", "1", "beta1 is 1, expected a number from 0 on, below 1");
  expect("eps", "-1", "eps is -1");
  expect("weight-decay", "nan", "weight_decay is nan");
  expect("clip", "-1", "clip is -1");
  expect("layer-decay", "-1", "layer_decay is -1");
  expect("lr-of", "*.bias", "lr-of has '*.bias', expected PATTERN=FACTOR");
  expect("decay-of", "*.bias=-1", "decay-of has '*.bias=-1', expected PATTERN=FACTOR");
}

TEST(CompileFlags, RefuseWhatWouldChangeNothing) {
  CompileFlags momentum, stage, caches;
  momentum.values.training.optimizer.momentum = 0.5;
  expect_refused(
      momentum,
      "--momentum=0.5 changes nothing with --optimizer=adamw: expected --optimizer=momentum, muon, normuon");
  momentum.values.training.optimizer.optimizer = Optimizer::momentum;
  EXPECT_EQ(momentum.options().training.optimizer.momentum, 0.5);
  stage.values.stage = 1;
  expect_refused(stage, "--stage=1: --mesh has no axis stage");
  caches.values.build.cache_pages = 5;
  expect_refused(caches, "--cache-pages=5: expected --mode=infer");
  CompileFlags slots, rank, targets;
  slots.values.build.adapters = 4, rank.values.build.adapter_rank = 8;
  targets.values.build.adapter_targets = {"q_proj", "v_proj"};
  expect_refused(slots, "--adapters=4: expected --mode=infer");
  expect_refused(rank, "--adapter-rank=8: there are no slots for adapters");
  expect_refused(targets, "--adapter-targets=q_proj,v_proj: there are no slots for adapters");
}

/// Runs that mix rows need pages and the sampler: without them the number would be lost in silence.
TEST(CompileFlags, StepTokensNeedPagesAndTheSampler) {
  for (const int64_t pages : {0, 9})
    for (const bool samples : {false, true}) {
      CompileOptions options;
      options.mode = Mode::infer;
      options.build.cache_pages = pages, options.build.has_sampler = samples, options.build.step_tokens = 32;
      if (pages > 0 && samples)
        EXPECT_EQ(build_options(options).step_tokens, 32);
      else
        EXPECT_THROW(build_options(options), Error);
      options.build.step_tokens.reset();
      EXPECT_EQ(build_options(options).step_tokens.value_or(0), 0) << "on a CPU";
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
