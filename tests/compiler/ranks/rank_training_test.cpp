// Compiled plans of several ranks, trained by threads: the losses are those of one rank with as many
// micro-steps.
#include <gtest/gtest.h>

#include <map>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/plan/state_parts.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/watched_training.h"

namespace smelt {
namespace {

constexpr int64_t kMicroSteps = 4, kRankUpdates = 6;

struct RankCase {
  const char* name;
  const char* spec;
  Optimizer optimizer;
  DType storage;
  double tolerance;  // relative, of a loss
  std::vector<const char*> meshes;
  int zero = 0;
  bool sequences = false;  // ranks along model have parts of them
  int64_t most_length = 11;
};
void PrintTo(const RankCase& c, std::ostream* out) { *out << c.name; }

#define SMELT_RANK_SIZES \
  R"("vocab_size": 24, "hidden": 16, "max_positions": 16, "decoder": {"layers": 1, "heads": 2}})"
const RankCase kRankCases[] = {
    {"gpt2_adamw",
     R"({"family": "gpt2", )" SMELT_RANK_SIZES,
     Optimizer::adamw,
     DType::f32,
     1e-6,
     {"data=2", "data=4", "data=2,model=2"}},
    {"llama_lamb",
     R"({"family": "llama", )" SMELT_RANK_SIZES,
     Optimizer::lamb,
     DType::f32,
     1e-6,
     {"data=2", "model=2"}},
    {"gpt2_bf16",
     R"({"family": "gpt2", )" SMELT_RANK_SIZES,
     Optimizer::adamw,
     DType::bf16,
     2e-3,
     {"data=2", "model=2"}},
    {"gpt2_fp16", R"({"family": "gpt2", )" SMELT_RANK_SIZES, Optimizer::adamw, DType::f16, 2e-3, {"data=4"}},
    {"zero1",
     R"({"family": "gpt2", )" SMELT_RANK_SIZES,
     Optimizer::adamw,
     DType::f32,
     1e-6,
     {"data=2", "data=4", "data=2,model=2"},
     1},
    {"sequences",
     R"({"family": "gpt2", )" SMELT_RANK_SIZES,
     Optimizer::adamw,
     DType::f32,
     1e-6,
     {"model=2", "data=2,model=2"},
     0,
     true,
     12},
    // By its bounds, parts of a record are long: no copy puts them together.
    {"sequences_in_rows",
     R"({"family": "llama", "vocab_size": 24, "hidden": 16, "max_positions": 4096,
         "decoder": {"layers": 1, "heads": 2}})",
     Optimizer::adamw,
     DType::f32,
     1e-6,
     {"model=2"},
     0,
     true,
     4096},
    {"sequences_bf16",
     R"({"family": "llama", )" SMELT_RANK_SIZES,
     Optimizer::adamw,
     DType::bf16,
     2e-3,
     {"model=2"},
     0,
     true,
     12},
    {"zero1_fp16",
     R"({"family": "gpt2", )" SMELT_RANK_SIZES,
     Optimizer::adamw,
     DType::f16,
     2e-3,
     {"data=4"},
     1},
    {"zero2", R"({"family": "gpt2", )" SMELT_RANK_SIZES, Optimizer::adamw, DType::f32, 1e-6, {"data=2"}, 2},
    {"zero2_lamb",
     R"({"family": "llama", )" SMELT_RANK_SIZES,
     Optimizer::lamb,
     DType::f32,
     1e-6,
     {"data=2"},
     2},
    {"zero3",
     R"({"family": "llama", )" SMELT_RANK_SIZES,
     Optimizer::adamw,
     DType::f32,
     1e-6,
     {"data=2", "data=4"},
     3},
    {"zero3_bf16",
     R"({"family": "gpt2", )" SMELT_RANK_SIZES,
     Optimizer::adamw,
     DType::bf16,
     2e-3,
     {"data=4"},
     3},
    {"gpt2_muon", R"({"family": "gpt2", )" SMELT_RANK_SIZES, Optimizer::muon, DType::f32, 1e-5, {"data=2"}},
    {"llama_adafactor",
     R"({"family": "llama", )" SMELT_RANK_SIZES,
     Optimizer::adafactor,
     DType::f32,
     1e-5,
     {"data=2"}},
    {"gpt2_schedule_free",
     R"({"family": "gpt2", )" SMELT_RANK_SIZES,
     Optimizer::schedule_free_adamw,
     DType::f32,
     1e-5,
     {"data=2"}},
};

/// Ranks that have batches of their own.
int64_t data_ranks(const Mesh& mesh) {
  const auto axis = mesh.find("data");
  return axis ? mesh.axes[*axis].size : 1;
}

/// The first rank that has the same parameters as this one.
size_t first_like(const Mesh& mesh, size_t rank) {
  const auto axis = mesh.find("data");
  return axis ? static_cast<size_t>(mesh.group(static_cast<int64_t>(rank), *axis)[0]) : rank;
}

CompileOptions options_for(const RankCase& c, const std::string& mesh) {
  CompileOptions options;
  options.storage = c.storage;
  options.build.dropout = 0.1;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, c.most_length}};
  options.training.optimizer.optimizer = c.optimizer;
  options.training.optimizer.clip_norm = 1;
  options.training.optimizer.keep_gradients = false;
  if (!mesh.empty()) options.mesh = parse_mesh(mesh);
  options.zero = c.zero, options.zero_bucket = 900;
  options.sequence_parallel = c.sequences;
  return options;
}

Description description_of(const RankCase& c) {
  return {Description::Kind::spec, "spec.json", spec_from_json(c.spec), nullptr, Json::object(), {}};
}

/// Made once for all tests, with what a run of these ranks needs.
std::shared_ptr<const Plan> compile_for(const RankCase& c, const std::string& mesh) {
  static std::map<std::pair<std::string, std::string>, std::shared_ptr<const Plan>> made;
  auto& plan = made[{c.name, mesh}];
  if (plan) return plan;
  CompileOptions options = options_for(c, mesh);
  options.entries = {"train_step", "evaluate"};
  if (data_ranks(options.mesh) < kMicroSteps) options.entries = {"accumulate", "apply", "evaluate"};
  return plan = std::make_shared<const Plan>(compile(description_of(c), options).plan);
}

struct Watched : test::WatchedTraining {
  std::vector<std::byte> parameters;
};

struct RankRun {
  std::filesystem::path directory;  // empty: none
  int64_t steps = kRankUpdates;
  bool resume = false;
};

Watched train_one(const std::shared_ptr<const Plan>& plan, RankGroups* ranks, const TokenSplit& data,
                  const RankRun& run) {
  Session session(plan, {.threads = 1, .seed = 11, .ranks = ranks});
  session.initialize(11);
  TrainerOptions options;
  options.run_directory = run.directory;
  options.resume = run.resume;
  options.steps = kRankUpdates, options.batch = 2, options.learning_rate = 0.02;
  const int64_t most = plan->symbols.upper(plan->find_entry("evaluate")->inputs[0].shape[1]);
  options.length = std::min<int64_t>(most, 12);
  options.gradient_accumulation = kMicroSteps / data_ranks(plan->mesh);
  options.eval_every = 3, options.eval_batches = 3, options.seed = 11;
  Trainer trainer(session, options, data);
  Watched watched;
  trainer.add_observer(watched);
  trainer.should_stop = [&] { return watched.losses.size() == static_cast<size_t>(run.steps); };
  trainer.run();
  const auto parameters = session.state("parameters");
  watched.parameters.assign(parameters.begin(), parameters.end());
  return watched;
}

std::vector<Watched> train_all(const std::shared_ptr<const Plan>& plan, const TokenSplit& data,
                               const RankRun& run = {}) {
  if (plan->mesh.empty()) return {train_one(plan, nullptr, data, run)};
  std::vector<Watched> all(static_cast<size_t>(plan->mesh.ranks()));
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    all[static_cast<size_t>(ranks.rank())] = train_one(plan, &ranks, data, run);
  });
  return all;
}

void expect_same_losses(const std::vector<double>& actual, std::span<const double> expected,
                        double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance * std::abs(expected[i])) << i;
}

bool has_parts(const Plan& plan) { return is_cut(*plan.find_state("parameters")); }

class RankTraining : public ::testing::TestWithParam<RankCase> {};

TEST_P(RankTraining, IsThatOfOneRankWithAsManyMicroSteps) {
  const RankCase& c = GetParam();
  const TemporaryDirectory d;
  const TokenSplit data = test::random_text(d);
  const Watched one = train_all(compile_for(c, ""), data)[0];
  EXPECT_NE(one.losses.front(), one.losses.back());
  for (const char* mesh : c.meshes) {
    const auto plan = compile_for(c, mesh);
    const auto all = train_all(plan, data);
    for (size_t i = 0; i < all.size(); ++i) {
      const Watched& rank = all[i];
      expect_same_losses(rank.losses, one.losses, c.tolerance);
      expect_same_losses(rank.norms, one.norms, 20 * c.tolerance);
      expect_same_losses(rank.held_back, one.held_back, c.tolerance);
      if (!has_parts(*plan)) {
        EXPECT_EQ(rank.parameters, all[first_like(plan->mesh, i)].parameters);
      }
    }
    EXPECT_EQ(train_all(plan, data)[0].parameters, all[0].parameters);  // the same bits again
  }
}

INSTANTIATE_TEST_SUITE_P(All, RankTraining, ::testing::ValuesIn(kRankCases),
                         [](const auto& info) { return std::string(info.param.name); });

const RankCase& case_named(std::string_view name) {
  return *std::ranges::find_if(kRankCases, [&](const RankCase& c) { return c.name == name; });
}

/// A run that goes on with another number of ranks, and with another.
void expect_to_go_on(const RankCase& c) {
  const TemporaryDirectory d;
  const TokenSplit data = test::random_text(d);
  const auto alone = compile_for(c, ""), two = compile_for(c, "data=2"), four = compile_for(c, "data=4");
  const std::vector<double> whole = train_all(alone, data)[0].losses;
  const std::span expected(whole);
  const auto run = [&](int64_t steps, bool resume) { return RankRun{d / "run", steps, resume}; };
  expect_same_losses(train_all(two, data, run(2, false))[1].losses, expected.first(2), c.tolerance);
  expect_same_losses(train_all(alone, data, run(1, true))[0].losses, expected.subspan(2, 1), c.tolerance);
  expect_same_losses(train_all(four, data, run(2, true))[3].losses, expected.subspan(3, 2), c.tolerance);
  expect_same_losses(train_all(two, data, run(kRankUpdates, true))[0].losses, expected.subspan(5),
                     c.tolerance);
}

TEST(RankTraining, GoesOnWithAnyNumberOfRanks) { expect_to_go_on(case_named("gpt2_adamw")); }
TEST(RankTraining, GoesOnWithAnyNumberOfRanksFromParts) { expect_to_go_on(case_named("zero3")); }

/// What ranks gather and scatter along sequences stays where it is, unless rows are short.
TEST(RankPlans, CopyNoPartsOfLongSequences) {
  for (const char* name : {"sequences", "sequences_in_rows"}) {
    const auto plan = compile_for(case_named(name), "model=2");
    int rows = 0;
    for (const PlanEntry& entry : plan->entries)
      for (const Step& step : entry.steps)
        if (const auto* what = std::get_if<CollectiveStep>(&step.what)) rows += !what->rows.is_one();
    EXPECT_EQ(rows > 0, std::string_view(name) == "sequences_in_rows") << rows;
  }
}

std::vector<std::string> collectives_of(const Program& program, const std::string& entry) {
  std::vector<std::string> found;
  for (const Step& step : std::ranges::find(program.entries, entry, &PlanEntry::name)->steps)
    if (const auto* what = std::get_if<CollectiveStep>(&step.what))
      found.push_back(fmt::format("{} {} {}", name(what->kind), what->axis, what->elements.str()));
  std::ranges::sort(found);
  return found;
}

/// Sums are made once: the flat gradient, the loss and the count.
void expect_three_sums(const RankCase& c, const CompileOptions& options) {
  const Program program = compile(description_of(c), options, Stage::program).program;
  const auto parameters = std::ranges::find(program.states, "parameters", &State::name);
  const std::string flat = element_count(parameters->shape).str();
  const std::vector<std::string> sums = {"all_reduce data 1", "all_reduce data 1", "all_reduce data " + flat};
  EXPECT_EQ(collectives_of(program, "train_step"), sums);
  EXPECT_EQ(collectives_of(program, "apply"), sums);
  for (const char* entry : {"accumulate", "evaluate", "logits"})
    EXPECT_TRUE(collectives_of(program, entry).empty()) << entry;
}

TEST(RankPlans, ReduceTheGradientOnce) {
  expect_three_sums(kRankCases[0], options_for(kRankCases[0], "data=4"));
}

/// The gradient of the positions is added up at its whole size, though that of a batch is smaller: lengths of
/// batches differ between ranks.
TEST(RankPlans, ReduceNothingOfTheBatchsLength) {
  const RankCase wide = {"wide",
                         R"({"family": "gpt2", "vocab_size": 23, "hidden": 768, "max_positions": 512,
                             "decoder": {"layers": 1, "heads": 12}})",
                         Optimizer::adamw,
                         DType::f32,
                         0,
                         {}};
  CompileOptions options = options_for(wide, "data=2");
  options.build.bounds = {{{"B"}, 8}, {{"T"}, 128}};
  expect_three_sums(wide, options);
}

/// An attention that stays one operation, with its gradient, needs nothing of other ranks either.
TEST(RankPlans, ReduceTheGradientOnceWithFusedAttention) {
  CompileOptions options = options_for(kRankCases[0], "data=2");
  options.attention = AttentionForm::fused;
  const auto fused = compile(description_of(kRankCases[0]), options, Stage::fused).fused;
  ASSERT_TRUE(std::ranges::any_of(fused->find_graph("train_step")->nodes(),
                                  [](const auto& node) { return node->is(Op::attention_grad); }));
  expect_three_sums(kRankCases[0], options);
}

/// Without f32 masters, too, all ranks have the same bits.
TEST(RankTraining, WithoutMastersRanksHaveTheSameBits) {
  const RankCase& c = kRankCases[2];
  const TemporaryDirectory d;
  CompileOptions options = options_for(c, "data=2");
  options.masters = false;
  options.entries = {"accumulate", "apply", "evaluate"};
  const auto plan = std::make_shared<const Plan>(compile(description_of(c), options).plan);
  const auto all = train_all(plan, test::random_text(d));
  ASSERT_FALSE(all[0].parameters.empty());
  EXPECT_NE(all[0].losses.front(), all[0].losses.back());
  EXPECT_EQ(all[1].parameters, all[0].parameters);
  EXPECT_EQ(all[1].losses, all[0].losses);
}

/// The gradient is summed in parts, and the update waits for them (program_collectives_test.cpp: when they
/// begin).
TEST(RankPlans, OfGpusSumTheGradientInParts) {
  CompileOptions options = options_for(kRankCases[0], "data=2");
  options.target = "sm_90", options.buckets.bytes = 4096, options.entries = {"train_step"};
  const Compilation compiled = compile(description_of(kRankCases[0]), options, Stage::program);
  const std::vector<Step>& steps = compiled.program.entries[0].steps;
  int parts = 0;
  for (const Step& step : steps) {
    const auto* sum = std::get_if<CollectiveStep>(&step.what);
    if (!sum || sum->kind != CollectiveKind::all_reduce || *sum->elements.constant() < 64) continue;
    ++parts;
    if (sum->waited_at < 0) continue;
    EXPECT_EQ(steps[static_cast<size_t>(sum->waited_at)].phase, "update");
  }
  EXPECT_GT(parts, 2);
}

}  // namespace
}  // namespace smelt
