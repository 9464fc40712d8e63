// Compiled stages of a pipeline, trained by threads: the losses are those of one rank with as many
// micro-steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/plan/retained_ports.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/watched_training.h"

namespace smelt {
namespace {

constexpr int64_t kPipelineMicroBatches = 4, kPipelineUpdates = 4;

/// The first and the last stage share the embedding.
std::string tied_decoder(int64_t layers) {
  return fmt::format(
      R"({{"family": "gpt2", "vocab_size": 26, "hidden": 8, "max_positions": 16,
          "decoder": {{"layers": {}, "heads": 2}}}})",
      layers);
}

Description decoder_description(int64_t layers) {
  return {Description::Kind::spec, "spec.json", spec_from_json(tied_decoder(layers)), nullptr,
          Json::object(),          {}};
}

struct PipelineSetting {
  std::string mesh;
  int64_t parts = 1, layers = 1;
  DType storage = DType::f32;
  Optimizer optimizer = Optimizer::adamw;
  int zero = 0;
};

CompileOptions stage_options(const PipelineSetting& setting, int64_t rank) {
  CompileOptions options;
  options.storage = setting.storage;
  options.build.dropout = 0.1;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 9}};
  options.training.optimizer.optimizer = setting.optimizer;
  options.training.optimizer.clip_norm = 0.5;
  options.training.optimizer.keep_gradients = false;
  options.zero = setting.zero, options.zero_bucket = 900;
  if (setting.mesh.empty()) {
    options.entries = {"accumulate", "apply", "evaluate"};
    return options;
  }
  options.mesh = parse_mesh(setting.mesh);
  options.parts_a_stage = setting.parts;
  options.stage = options.mesh.coordinates(rank)[*options.mesh.find(kStageAxis)];
  return options;
}

std::shared_ptr<const Plan> plan_of(const PipelineSetting& setting, int64_t rank) {
  static std::map<std::string, std::shared_ptr<const Plan>> made;
  static std::mutex mutex;
  const CompileOptions options = stage_options(setting, rank);
  const std::lock_guard lock(mutex);
  auto& plan = made[fmt::format("{} {} {} {} {} {} {}", setting.layers, setting.mesh, options.stage,
                                setting.parts, name(setting.storage), name(setting.optimizer), setting.zero)];
  if (plan) return plan;
  return plan = std::make_shared<const Plan>(compile(decoder_description(setting.layers), options).plan);
}

struct SeenUpdates : test::WatchedTraining {
  std::vector<float> tied;
};

struct PipelineTrial {
  PipelineOrder order = PipelineOrder::one_f_one_b;
  std::filesystem::path directory = {};  // empty: none
  int64_t until = kPipelineUpdates;
  bool resume = false;
};

int64_t data_ranks_of(const Mesh& mesh) {
  const auto axis = mesh.find("data");
  return axis ? mesh.axes[*axis].size : 1;
}

/// The embedding is the one parameter of this shape.
bool is_tied(const Segment& segment) { return segment.shape == std::vector<int64_t>{26, 8}; }

SeenUpdates train_rank(const std::shared_ptr<const Plan>& plan, RankGroups* ranks, const TokenSplit& data,
                       const PipelineTrial& trial) {
  Session session(plan, {.threads = 1, .seed = 11, .ranks = ranks});
  session.initialize(11);
  TrainerOptions options;
  options.run_directory = trial.directory;
  options.resume = trial.resume;
  options.pipeline_order = trial.order;
  options.steps = kPipelineUpdates, options.batch = 2, options.length = 9, options.learning_rate = 0.02;
  options.gradient_accumulation = kPipelineMicroBatches / data_ranks_of(plan->mesh);
  options.eval_every = 2, options.eval_batches = 3, options.seed = 11;
  Trainer trainer(session, options, data);
  SeenUpdates seen;
  trainer.add_observer(seen);
  trainer.should_stop = [&] { return static_cast<int64_t>(seen.losses.size()) == trial.until; };
  trainer.run();
  for (const Segment& segment : plan->find_state("parameters")->segments)
    if (is_tied(segment)) seen.tied = session.read_segment("parameters", segment.name);
  return seen;
}

std::vector<SeenUpdates> train_ranks(const PipelineSetting& setting, const TokenSplit& data,
                                     const PipelineTrial& trial = {}) {
  if (setting.mesh.empty()) return {train_rank(plan_of(setting, 0), nullptr, data, trial)};
  const Mesh mesh = parse_mesh(setting.mesh);
  std::vector<SeenUpdates> all(static_cast<size_t>(mesh.ranks()));
  test::ThreadRanks(mesh).run([&](RankGroups& ranks) {
    const auto rank = static_cast<size_t>(ranks.rank());
    all[rank] = train_rank(plan_of(setting, ranks.rank()), &ranks, data, trial);
  });
  return all;
}

void expect_near_losses(const std::vector<double>& actual, std::span<const double> expected,
                        double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance * std::abs(expected[i])) << i;
}

/// The same figures at all ranks, and the tied parameter's copies equal bit by bit.
void expect_as_one(const PipelineSetting& setting, const TokenSplit& data, PipelineOrder order,
                   double tolerance) {
  SCOPED_TRACE(fmt::format("{} {} parts, {}", setting.mesh, setting.parts, name(order)));
  const SeenUpdates one =
      train_ranks({"", 1, setting.layers, setting.storage, setting.optimizer, 0}, data)[0];
  ASSERT_FALSE(one.tied.empty());
  EXPECT_NE(one.losses.front(), one.losses.back());
  const std::vector<SeenUpdates> all = train_ranks(setting, data, {order});
  const std::vector<float>* tied = nullptr;
  for (const SeenUpdates& rank : all) {
    expect_near_losses(rank.losses, one.losses, tolerance);
    expect_near_losses(rank.norms, one.norms, 20 * tolerance);
    expect_near_losses(rank.held_back, one.held_back, tolerance);
    if (rank.tied.empty()) continue;
    EXPECT_TRUE(!tied || rank.tied == *tied);
    tied = &rank.tied;
  }
  const bool in_parts = setting.mesh.find("model") != std::string::npos;
  ASSERT_TRUE(tied || in_parts) << "ranks along model have parts of it";
}

struct PipelineCase {
  const char* name;
  PipelineSetting setting;
  PipelineOrder order;
  double tolerance = 1e-6;
};
const PipelineCase kPipelineCases[] = {
    {"gpipe", {"stage=2"}, PipelineOrder::gpipe},
    {"one_f_one_b", {"stage=2"}, PipelineOrder::one_f_one_b},
    {"interleaved", {"stage=2", 2, 2}, PipelineOrder::interleaved},
    {"data", {"data=2,stage=2"}, PipelineOrder::one_f_one_b},
    {"zero1_lamb", {"data=2,stage=2", 1, 1, DType::f32, Optimizer::lamb, 1}, PipelineOrder::gpipe},
    {"zero1_parts", {"data=2,stage=2", 2, 2, DType::f32, Optimizer::adamw, 1}, PipelineOrder::interleaved},
    {"model", {"model=2,stage=2"}, PipelineOrder::one_f_one_b},
    {"bf16", {"stage=2", 1, 1, DType::bf16}, PipelineOrder::one_f_one_b, 4e-3},
    {"fp16", {"stage=2", 1, 1, DType::f16}, PipelineOrder::one_f_one_b, 2e-3},
};
void PrintTo(const PipelineCase& c, std::ostream* out) { *out << c.name; }

class PipelineTraining : public ::testing::TestWithParam<PipelineCase> {};

TEST_P(PipelineTraining, IsThatOfOneRank) {
  const TemporaryDirectory d;
  expect_as_one(GetParam().setting, test::random_text(d), GetParam().order, GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(All, PipelineTraining, ::testing::ValuesIn(kPipelineCases),
                         [](const auto& info) { return std::string(info.param.name); });

/// A run that goes on with other numbers of stages and parts, and with one rank.
TEST(PipelineRuns, GoOnWithAnyMesh) {
  const TemporaryDirectory d;
  const TokenSplit data = test::random_text(d);
  const std::vector<double> whole = train_ranks({""}, data)[0].losses;
  const std::span expected(whole);
  const auto go_on = [&](const PipelineSetting& setting, int64_t steps, size_t first, bool resume) {
    SCOPED_TRACE(setting.mesh);
    const auto all = train_ranks(setting, data, {PipelineOrder::one_f_one_b, d / "run", steps, resume});
    expect_near_losses(all.back().losses, expected.subspan(first, static_cast<size_t>(steps)), 1e-6);
  };
  go_on({"stage=2"}, 1, 0, false);
  go_on({""}, 1, 1, true);
  go_on({"data=2,stage=2", 1, 1, DType::f32, Optimizer::adamw, 1}, 2, 2, true);
}

std::string refusal_of(const PipelineSetting& setting, const std::function<void(CompileOptions&)>& change) {
  CompileOptions options = stage_options(setting, 0);
  change(options);
  try {
    compile(decoder_description(setting.layers), options, Stage::fused);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

/// Of a stage's fused graphs: the types of what they keep, by name; a name has one type everywhere.
std::map<std::string, DType> kept_types(const std::string& target, DType storage, int64_t stage) {
  CompileOptions options = stage_options({"stage=2", 1, 1, storage}, stage);
  options.target = target;
  std::map<std::string, DType> types;
  const Compilation made = compile(decoder_description(1), options, Stage::fused);
  const auto add = [&](const std::string& name, DType type) {
    if (!is_kept_port(name)) return;
    EXPECT_EQ(types.emplace(name, type).first->second, type) << name;
  };
  for (const auto& graph : made.fused->graphs) {
    for (const Graph::Output& output : graph->outputs) add(output.name, output.value->dtype());
    for (const Node* input : graph->inputs()) add(input->get(attr::name), input->result()->dtype());
  }
  return types;
}

/// What crosses a boundary has one type at both stages; what is saved is as the stage stores it, statistics
/// in f32.
TEST(PipelinePlans, KeepWhatTheyStoreInSixteenBits) {
  for (const char* target : {"cpu", "sm_90"})
    for (const DType storage : {DType::bf16, DType::f16, DType::f32}) {
      SCOPED_TRACE(fmt::format("{} {}", target, name(storage)));
      std::map<DType, int> saved;
      for (const int64_t stage : {0, 1}) {
        const auto types = kept_types(target, storage, stage);
        EXPECT_EQ(types.at("values.1.0"), storage);
        EXPECT_EQ(types.at("gradients.1.0"), storage);
        for (const auto& [name, type] : types)
          if (name.starts_with("saved.")) ++saved[type];
      }
      EXPECT_GT(saved[DType::f32], 0);
      EXPECT_GT(saved[storage], 2);
    }
}

/// Weights that were merged are read where they lie, not kept for every micro-batch.
TEST(PipelinePlans, KeepNoWeights) {
  const char* spec = R"({"family": "llama", "vocab_size": 16, "hidden": 8, "max_positions": 16,
                         "decoder": {"layers": 2, "heads": 2, "kv_heads": 1, "ffn": 12}})";
  const Description gated{Description::Kind::spec, "spec.json", spec_from_json(spec), nullptr,
                          Json::object(),          {}};
  int saved = 0;
  for (const int64_t stage : {0, 1}) {
    const Compilation made = compile(gated, stage_options({"stage=2"}, stage), Stage::fused);
    for (const auto& graph : made.fused->graphs)
      for (const Graph::Output& output : graph->outputs) {
        if (!output.name.starts_with("saved.") || output.value->rank() == 0) continue;
        ++saved;
        EXPECT_TRUE(
            std::ranges::any_of(output.value->shape(), [](const Dim& dim) { return !dim.is_constant(); }))
            << graph->name << ", " << output.name << ": " << str(output.value->shape());
      }
  }
  EXPECT_GT(saved, 8);
}

TEST(PipelinePlans, RefuseWhatDoesNotFit) {
  const auto expect = [&](const char* part, const std::function<void(CompileOptions&)>& change) {
    const std::string refusal = refusal_of({"stage=2"}, change);
    EXPECT_NE(refusal.find(part), std::string::npos) << "expected: " << part << "\nfound: " << refusal;
  };
  expect("--zero=2 and 3", [](CompileOptions& o) { o.zero = 2; });
  expect("there is no stage 2", [](CompileOptions& o) { o.stage = 2; });
  expect("parts; 200 are asked for", [](CompileOptions& o) { o.parts_a_stage = 100; });
}

}  // namespace
}  // namespace smelt
