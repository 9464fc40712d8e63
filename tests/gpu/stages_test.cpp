// A pipeline of two stages on two GPUs of this machine has the losses of one GPU with as many micro-steps;
// skipped where there are fewer.
#include "runtime/engine/training/trainer.h"
#include "tests/gpu/small_model.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/watched_training.h"

namespace smelt {
namespace {

constexpr int64_t kMicroBatches = 4, kUpdates = 6;

struct GpuStageTrial {
  const char* name;
  DType storage;
  PipelineOrder order;
  int64_t parts;
  double tolerance;
};
const GpuStageTrial kGpuStageTrials[] = {
    {"gpipe", DType::f32, PipelineOrder::gpipe, 1, 1e-5},
    {"one_f_one_b", DType::f32, PipelineOrder::one_f_one_b, 1, 1e-5},
    {"interleaved", DType::f32, PipelineOrder::interleaved, 2, 1e-5},
    {"bf16", DType::bf16, PipelineOrder::one_f_one_b, 1, 1e-2},
    {"fp16", DType::f16, PipelineOrder::one_f_one_b, 1, 2e-3},
};
void PrintTo(const GpuStageTrial& trial, std::ostream* out) { *out << trial.name; }

/// The first and the last stage share the embedding; four blocks are enough for four parts.
std::shared_ptr<const Plan> stage_plan(const GpuStageTrial& trial, const std::string& mesh, int64_t stage) {
  CompileOptions options;
  options.target = "sm_" + std::to_string(this_gpu());
  options.storage = trial.storage;
  options.build.dropout = 0.1;
  options.build.bounds = {{{"B"}, 4}, {{"T"}, kLength}};
  options.training.optimizer.clip_norm = 0.5;
  options.training.optimizer.keep_gradients = false;
  if (mesh.empty())
    options.entries = {"accumulate", "apply", "evaluate"};
  else
    options.mesh = parse_mesh(mesh), options.stage = stage, options.parts_a_stage = trial.parts;
  return std::make_shared<const Plan>(compile(small_decoder(4, 64, 4), options).plan);
}

test::WatchedTraining train(const GpuStageTrial& trial, const std::string& mesh, const TokenSplit& data,
                            RankGroups* ranks) {
  const int64_t rank = ranks ? ranks->rank() : 0;
  Session session(stage_plan(trial, mesh, rank),
                  {.seed = 11, .device = static_cast<int>(rank), .ranks = ranks});
  session.initialize(11);
  TrainerOptions options;
  options.pipeline_order = trial.order;
  options.steps = kUpdates, options.batch = 4, options.length = kLength, options.learning_rate = 0.01;
  options.gradient_accumulation = kMicroBatches;
  options.eval_every = 3, options.eval_batches = 2, options.seed = 11;
  Trainer trainer(session, options, data);
  test::WatchedTraining seen;
  trainer.add_observer(seen);
  trainer.run();
  return seen;
}

class GpuStagesTraining : public ::testing::TestWithParam<GpuStageTrial> {
 protected:
  void SetUp() override {
    if (cuda::device_count() < 2) GTEST_SKIP() << "fewer than two GPUs on this machine";
  }
};

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance * std::abs(expected[i])) << i;
}

TEST_P(GpuStagesTraining, HasTheLossesOfOneGpu) {
  const TemporaryDirectory d;
  const TokenSplit data = test::random_text(d);
  const test::WatchedTraining one = train(GetParam(), "", data, nullptr);
  ASSERT_EQ(one.losses.size(), static_cast<size_t>(kUpdates));
  test::ThreadRanks(parse_mesh("stage=2")).run([&](RankGroups& ranks) {
    const test::WatchedTraining seen = train(GetParam(), "stage=2", data, &ranks);
    expect_near(seen.losses, one.losses, GetParam().tolerance);
    expect_near(seen.norms, one.norms, 20 * GetParam().tolerance);
    expect_near(seen.held_back, one.held_back, GetParam().tolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(All, GpuStagesTraining, ::testing::ValuesIn(kGpuStageTrials),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace smelt
