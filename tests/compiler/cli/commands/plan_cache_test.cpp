// The cache of plans: it gives back what the passes would make, and only that. What is damaged or another's
// is not there, what cannot be written is no error.
#include "compiler/driver/plan_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "compiler/driver/build_id.h"
#include "frontend/lora_option.h"
#include "runtime/plan/plan_file.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"
#include "tests/compiler/cli.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

/// Small, so that every plan is made in no time; for a GPU without its compiler there is nothing to make.
CompileOptions small_options() {
  CompileOptions options;
  options.build.bounds = {{{"B"}, 3}, {{"T"}, 7}};
  options.entries = {"evaluate"};
  return options;
}

class PlanCacheTest : public ::testing::Test {
 protected:
  PlanCacheTest() {
    std::string name = (fs::temp_directory_path() / "smelt-plans-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~PlanCacheTest() override { fs::remove_all(directory_); }

  Compilation recall(const CompileOptions& options) const {
    return compile_or_recall(description_, options, nullptr, cache());
  }
  PlanCache cache(int64_t most = PlanCache::kMostBytes) const {
    return PlanCache(directory_ / "plans", most);
  }
  std::string key(const CompileOptions& options) const { return plan_key(description_, options); }
  static bool was_recalled(const Compilation& made) { return made.seconds.front().first == "recall"; }

  fs::path directory_;
  const Description description_ = read_description(test::kGolden);
  const CompileOptions options_ = small_options();
};

TEST_F(PlanCacheTest, GivesThePlanThatThePassesMake) {
  const Compilation first = recall(options_), second = recall(options_);
  EXPECT_FALSE(was_recalled(first));
  EXPECT_TRUE(was_recalled(second));
  EXPECT_TRUE(first.fused) << "who compiles may look at the graph";
  EXPECT_EQ(serialize_plan(first.plan), serialize_plan(second.plan));
  EXPECT_EQ(serialize_plan(compile(description_, options_).plan), serialize_plan(second.plan));
}

TEST_F(PlanCacheTest, EveryOptionThatDecidesThePlanIsInTheKey) {
  const std::function<void(CompileOptions&)> changes[] = {
      [](auto& o) { o.target = "sm_90"; },
      [](auto& o) { o.target = "sm_80"; },
      [](auto& o) { o.mode = Mode::infer; },
      [](auto& o) { o.storage = DType::bf16; },
      [](auto& o) { o.tf32 = true; },
      [](auto& o) { o.masters = false; },
      [](auto& o) { o.build.bounds[0].upper = 4; },
      [](auto& o) { o.build.bounds[0].factors = {"T"}; },
      [](auto& o) { o.build.bounds.pop_back(); },
      [](auto& o) { o.build.dropout = 0; },
      [](auto& o) { o.build.dropout = 0.1; },
      [](auto& o) { o.build.hidden_states = true; },
      [](auto& o) { o.build.attention_mask = true; },
      [](auto& o) { o.build.attention_mask = false; },
      [](auto& o) { o.build.position_ids = true; },
      [](auto& o) { o.build.segment_ids = true; },
      [](auto& o) { o.build.lora = parse_lora("r=2"); },
      [](auto& o) { o.build.lora = parse_lora("r=2,alpha=3"); },
      [](auto& o) { o.trained = {"*.bias"}; },
      [](auto& o) { o.training.accumulation = false; },
      [](auto& o) { o.training.loss = "evaluate"; },
      [](auto& o) { o.training.optimizer.optimizer = Optimizer::lamb; },
      [](auto& o) { o.training.optimizer.learning_rate = 1; },
      [](auto& o) { o.training.optimizer.weight_decay = 0.1; },
      [](auto& o) {
        o.training.optimizer.weight_decay = 0.1 + 1e-17;
        o.training.optimizer.decay_all = true;
      },
      [](auto& o) { o.training.optimizer.keep_gradients = false; },
      [](auto& o) { o.training.optimizer.clip_norm = 1; },
      [](auto& o) { o.training.optimizer.beta1 = 0.8; },
      [](auto& o) { o.training.optimizer.beta2 = 0.9990000000000001; },
      [](auto& o) { o.training.optimizer.eps = 1e-6; },
      [](auto& o) { o.training.optimizer.momentum = 0.5; },
      [](auto& o) { o.training.optimizer.dampening = 0.5; },
      [](auto& o) { o.training.optimizer.rate_of = {"*=0.5"}; },
      [](auto& o) { o.training.optimizer.decay_of = {"*=0.5"}; },
      [](auto& o) { o.training.optimizer.layer_decay = 0.5; },
      [](auto& o) { o.training.optimizer.ema = 0.5; },
      [](auto& o) { o.training.optimizer.matrix_rate = MatrixRate::original; },
      [](auto& o) { o.training.optimizer.adamw_rate = 0.5; },
      [](auto& o) { o.training.optimizer.adamw_for = {"*"}; },
      [](auto& o) { o.training.optimizer.matrices = {"w"}; },
      [](auto& o) { o.training.optimizer.nesterov = true; },
      [](auto& o) { o.training.optimizer.learning_rate_decay = 0.5; },
      [](auto& o) { o.training.optimizer.initial_accumulator_value = 0.5; },
      [](auto& o) { o.training.optimizer.scaling.on = true; },
      [](auto& o) { o.training.optimizer.scaling.initial = 8; },
      [](auto& o) { o.training.optimizer.scaling.growth_interval = 8; },
      [](auto& o) { o.entries = {}; },
      [](auto& o) { o.entries = {"evaluate", "logits"}; },
      [](auto& o) { o.pipeline = "decompose"; },
      [](auto& o) { o.passes.disabled = {"rematerialize"}; },
  };
  std::set<std::string> keys = {key(options_)};
  EXPECT_EQ(key(options_), key(small_options()));
  for (const auto& change : changes) {
    CompileOptions changed = options_;
    change(changed);
    EXPECT_TRUE(keys.insert(key(changed)).second) << "change " << keys.size();
    EXPECT_EQ(key(changed).size(), 64u);
  }
}

TEST_F(PlanCacheTest, AdaptersOfOneShapeHaveOnePlan) {
  CompileOptions first = options_, second = options_;
  first.build.lora = second.build.lora = parse_lora("r=2");
  second.build.lora->base_model = "elsewhere";
  EXPECT_EQ(key(first), key(second));
}

TEST_F(PlanCacheTest, TheKeyIsOfTheContentNotOfThePath) {
  const fs::path copy = directory_ / "copy";
  fs::create_directories(copy);
  for (const char* file : {"config.json", "generation_config.json"})
    if (fs::exists(test::kGolden / file)) fs::copy_file(test::kGolden / file, copy / file);
  EXPECT_EQ(plan_key(read_description(copy), options_), key(options_));
  std::string config = read_text_file(copy / "config.json");
  const size_t at = config.find("\"layer_norm_epsilon\": 1e-05");
  ASSERT_NE(at, std::string::npos) << config;
  config.replace(at, 27, "\"layer_norm_epsilon\": 2e-05");
  std::ofstream(copy / "config.json") << config;
  EXPECT_NE(plan_key(read_description(copy), options_), key(options_));
}

TEST_F(PlanCacheTest, WhoLooksInsideCompiles) {
  const std::function<void(CompileOptions&)> looks[] = {
      [](auto& o) { o.tune = true; },
      [](auto& o) { o.explain_fusion = true; },
      [](auto& o) { o.dump_dir = "somewhere"; },
      [](auto& o) { o.passes.verify_each = true; },
      [](auto& o) { o.passes.print_after_all = true; },
      [](auto& o) { o.passes.print_after = {"fuse"}; },
      [](auto& o) { o.passes.bisect_limit = 3; },
  };
  for (const auto& look : looks) {
    CompileOptions looking = options_;
    look(looking);
    EXPECT_EQ(key(looking), "");
  }
}

TEST_F(PlanCacheTest, DamageIsNoticedAndMadeGood) {
  recall(options_);
  const fs::path file = cache().file(key(options_));
  const std::string good = read_text_file(file);
  for (size_t i = 0; i < good.size(); i += i < 150 ? 1 : 3989) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    std::ofstream(file, std::ios::binary) << bad;
    EXPECT_FALSE(cache().read(key(options_))) << "byte " << i;
  }
  for (const size_t length : {size_t{0}, size_t{5}, size_t{72}, good.size() / 2, good.size() - 1}) {
    std::ofstream(file, std::ios::binary) << good.substr(0, length);
    EXPECT_FALSE(cache().read(key(options_))) << length << " bytes";
  }
  std::ofstream(file, std::ios::binary) << good << "x";
  EXPECT_FALSE(was_recalled(recall(options_)));
  EXPECT_EQ(read_text_file(file), good) << "and it is made again";
  EXPECT_TRUE(was_recalled(recall(options_)));
}

TEST_F(PlanCacheTest, AnEntryOfAnotherNameIsNotTaken) {
  recall(options_);
  CompileOptions other = options_;
  other.training.optimizer.clip_norm = 1;
  fs::copy_file(cache().file(key(options_)), cache().file(key(other)));
  EXPECT_FALSE(cache().read(key(other)));
}

TEST_F(PlanCacheTest, ADirectoryThatCannotBeWrittenIsNoError) {
  std::ofstream(directory_ / "plans") << "a file where the directory would be";
  EXPECT_FALSE(was_recalled(recall(options_)));
  EXPECT_FALSE(was_recalled(recall(options_)));
  EXPECT_FALSE(was_recalled(compile_or_recall(description_, options_, nullptr, PlanCache(""))));
}

TEST_F(PlanCacheTest, WhatWasNotUsedLongestGoes) {
  CompileOptions a = options_, b = options_, c = options_;
  b.build.bounds[0].upper = 5, c.build.bounds[0].upper = 6;
  recall(a), recall(b);
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(cache().file(key(a)), past);
  fs::last_write_time(cache().file(key(b)), past + std::chrono::minutes(1));
  EXPECT_TRUE(was_recalled(recall(a))) << "which makes b the older one";
  const auto bytes = static_cast<int64_t>(fs::file_size(cache().file(key(a))));
  compile_or_recall(description_, c, nullptr, cache(2 * bytes + bytes / 2));
  EXPECT_TRUE(cache().read(key(a)));
  EXPECT_FALSE(cache().read(key(b)));
  EXPECT_TRUE(cache().read(key(c)));
  compile_or_recall(description_, b, nullptr, cache(bytes / 2));
  EXPECT_FALSE(cache().read(key(b))) << "too large to be kept at all";
}

TEST_F(PlanCacheTest, ManyAtOnce) {
  const std::string expected = serialize_plan(compile(description_, options_).plan);
  std::vector<std::string> found(6);
  {
    std::vector<std::jthread> threads;
    for (std::string& plan : found)
      threads.emplace_back([&] { plan = serialize_plan(recall(options_).plan); });
  }
  for (const std::string& plan : found) EXPECT_EQ(plan, expected);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_ / "plans"), {}), 1) << "no temporaries are left";
}

TEST(BuildId, NamesThisBuildAndItsLlvm) {
  const std::string& id = compiler_build_id();
  ASSERT_NE(id, "");
  EXPECT_GE(id.find('+'), 16u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef+"), std::string::npos) << id;
}

/// Through the command line, where all cached plans lie under SMELT_CACHE_DIR.
class PlanCacheCommand : public test::CommandLine {
 protected:
  test::Outcome cached(const std::string& arguments) const {
    return shell("export OMP_NUM_THREADS=2 SMELT_CACHE_DIR=cache GOLDEN='" + test::kGolden.string() + "'; " +
                 binary() + " " + arguments);
  }
  ptrdiff_t plans() const {
    std::error_code none;
    return std::distance(fs::directory_iterator(path("cache/plans"), none), {});
  }
};

TEST_F(PlanCacheCommand, ASecondRunTrainsTheSameAndDrawsTheSameGraph) {
  test::spill(path("text.txt"), read_text_file(fs::path(SMELT_SOURCE_DIR) / "README.md").substr(0, 4000));
  const std::string train =
      "train $GOLDEN --from-scratch --data text.txt --data-format bytes --batch 2 --length 13 --steps 3 "
      "--eval-batches 1 --seed 7 --run-dir ";
  for (const char* run : {"first", "second", "third --no-plan-cache"}) {
    expect_good(cached(train + run));
    EXPECT_EQ(plans(), 1) << run;
  }
  for (const std::string file : {"graph.ir", "graph.dot", "model/model.safetensors"}) {
    const std::string first = test::slurp(path("first/" + file));
    EXPECT_FALSE(first.empty()) << file;
    EXPECT_EQ(first, test::slurp(path("second/" + file))) << file;
    EXPECT_EQ(first, test::slurp(path("third/" + file))) << file;
  }
}

TEST_F(PlanCacheCommand, OtherOptionsAreOtherPlans) {
  const std::string run = "generate $GOLDEN --ids '1 2 3' --max-new-tokens 4";
  const test::Outcome first = cached(run), second = cached(run);
  expect_good(first);
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(plans(), 1);
  expect_good(cached(run + " --max B=2"));
  EXPECT_EQ(plans(), 2);
  expect_good(cached(run + " --max B=3 --no-plan-cache"));
  expect_good(cached(run + " --max B=3 --timing"));
  EXPECT_EQ(plans(), 2);
}

TEST_F(PlanCacheCommand, AnomaliesAreStillNamed) {
  test::spill(path("text.txt"), read_text_file(fs::path(SMELT_SOURCE_DIR) / "README.md").substr(0, 4000));
  const std::string train =
      "train $GOLDEN --from-scratch --data text.txt --data-format bytes --batch 2 --length 13 --steps 2 "
      "--eval-batches 1 ";
  expect_good(cached(train));
  expect_good(cached(train + "--detect-anomaly"));
}

}  // namespace
}  // namespace smelt
