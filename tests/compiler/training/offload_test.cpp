// Masters and moments in the memory of the host: the update in pieces through windows is the update at once,
// to the bit, for every optimizer, storage and number of pieces, alone and over ranks; and what cannot be
// moved is refused.
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/driver/compile.h"
#include "ir/analysis/host_states.h"
#include "ir/analysis/step_footprint.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/plan/plan_costs.h"
#include "runtime/plan/plan_file.h"
#include "runtime/session/executor.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/support/thread_ranks.h"
#include "tests/support/watched_training.h"

namespace smelt {
namespace {

struct OffloadCase {
  const char* name;
  Optimizer optimizer = Optimizer::adamw;
  DType storage = DType::bf16;
  double share = 1;
  int pieces = 3;  // of a state, about
  double clip_norm = 1;
  const char* mesh = "";
  int zero = 0;
  int64_t accumulation = 1;
};
void PrintTo(const OffloadCase& c, std::ostream* out) { *out << c.name; }

const OffloadCase kOffloadCases[] = {
    {"one_piece", Optimizer::adamw, DType::bf16, 1, 1},
    {"two_pieces", Optimizer::adamw, DType::bf16, 1, 2},
    {"three_pieces", Optimizer::adamw, DType::bf16, 1, 3},
    {"seven_pieces", Optimizer::adamw, DType::bf16, 1, 7},
    {"many_pieces_of_a_part", Optimizer::adamw, DType::bf16, 0.6, 23},
    {"without_clipping", Optimizer::adamw, DType::bf16, 1, 7, 0},
    {"moments_alone", Optimizer::adamw, DType::f32, 1, 7},
    {"fp16_with_a_loss_scale", Optimizer::adamw, DType::f16, 0.7, 5},
    {"adam_in_micro_steps", Optimizer::adam, DType::bf16, 1, 5, 1, "", 0, 2},
    {"momentum", Optimizer::momentum, DType::bf16, 0.5, 5},
    {"adagrad", Optimizer::adagrad, DType::bf16, 1, 5},
    {"masters_alone", Optimizer::sgd, DType::bf16, 1, 5},
    {"data", Optimizer::adamw, DType::bf16, 1, 5, 1, "data=2"},
    {"zero1", Optimizer::adamw, DType::bf16, 0.5, 7, 1, "data=2", 1},
    {"zero2", Optimizer::adamw, DType::bf16, 1, 7, 1, "data=2", 2, 2},
    {"zero3", Optimizer::adamw, DType::bf16, 1, 7, 1, "data=4", 3},
};

const Description& offload_model() {
  static const Description made{Description::Kind::spec,
                                "spec.json",
                                spec_from_json(R"({"family": "llama", "vocab_size": 24, "hidden": 32,
                                    "max_positions": 16, "decoder": {"layers": 1, "heads": 2}})"),
                                nullptr,
                                Json::object(),
                                {}};
  return made;
}

/// About those of a state; more than a kernel takes as one row.
constexpr int64_t kOffloadedElements = 14000;

CompileOptions offload_options(const OffloadCase& c, bool offloads) {
  CompileOptions options;
  options.storage = c.storage;
  options.build.dropout = 0.1;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 11}};
  options.training.optimizer.optimizer = c.optimizer;
  options.training.optimizer.clip_norm = c.clip_norm;
  options.training.optimizer.keep_gradients = false;
  if (*c.mesh) options.mesh = parse_mesh(c.mesh);
  options.zero = c.zero, options.zero_bucket = 900;
  options.entries = {c.accumulation > 1 ? "accumulate" : "train_step", "evaluate"};
  if (c.accumulation > 1) options.entries.emplace_back("apply");
  if (offloads) options.offload = {.share = c.share, .bucket = kOffloadedElements * 4 / c.pieces};
  return options;
}

std::shared_ptr<const Plan> offload_plan(const OffloadCase& c, bool offloads) {
  return std::make_shared<const Plan>(compile(offload_model(), offload_options(c, offloads)).plan);
}

struct OffloadRun {
  test::WatchedTraining watched;
  std::map<std::string, std::vector<std::byte>> states;
};

OffloadRun train_offloaded(const std::shared_ptr<const Plan>& plan, const OffloadCase& c, RankGroups* ranks,
                           const TokenSplit& data, const std::filesystem::path& directory, int64_t steps,
                           bool resume) {
  Session session(plan, {.threads = 1, .seed = 11, .poison = true, .ranks = ranks});
  session.initialize(11);
  TrainerOptions options;
  options.run_directory = directory, options.resume = resume;
  options.steps = 6, options.batch = 2, options.length = 11, options.learning_rate = 0.02;
  options.gradient_accumulation = c.accumulation, options.seed = 11;
  Trainer trainer(session, options, data);
  OffloadRun run;
  trainer.add_observer(run.watched);
  trainer.should_stop = [&] { return run.watched.losses.size() == static_cast<size_t>(steps); };
  trainer.run();
  for (const State& state : plan->states) {
    const auto bytes = session.state(state.name);
    run.states[state.name].assign(bytes.begin(), bytes.end());
  }
  return run;
}

std::vector<OffloadRun> train_all_offloaded(const OffloadCase& c, bool offloads, const TokenSplit& data,
                                            const std::filesystem::path& directory = {}, int64_t steps = 6,
                                            bool resume = false) {
  const auto plan = offload_plan(c, offloads);
  if (plan->mesh.empty()) return {train_offloaded(plan, c, nullptr, data, directory, steps, resume)};
  std::vector<OffloadRun> all(static_cast<size_t>(plan->mesh.ranks()));
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    all[static_cast<size_t>(ranks.rank())] = train_offloaded(plan, c, &ranks, data, directory, steps, resume);
  });
  return all;
}

/// Where the gradient's norm is not needed by an update it is computed with it, if that is in one piece: sums
/// and rounding differ in the last bits.
void expect_offloaded_losses(const std::vector<OffloadRun>& actual, const std::vector<OffloadRun>& expected) {
  for (size_t i = 0; i < expected[0].watched.losses.size(); ++i)
    EXPECT_NEAR(actual[0].watched.losses[i], expected[0].watched.losses[i], 1e-3);
}

void expect_same_bits(const std::vector<OffloadRun>& actual, const std::vector<OffloadRun>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t rank = 0; rank < actual.size(); ++rank) {
    EXPECT_EQ(actual[rank].watched.losses, expected[rank].watched.losses);
    for (const auto& [name, bytes] : expected[rank].states)
      EXPECT_TRUE(actual[rank].states.at(name) == bytes) << name << " at rank " << rank;
  }
}

int64_t copies_of(const Plan& plan, std::string_view entry) {
  int64_t copies = 0;
  for (const Step& step : plan.find_entry(entry)->steps)
    if (const auto* copy = std::get_if<CopyStep>(&step.what)) copies += copy->waited_at >= 0;
  return copies;
}

class Offload : public ::testing::TestWithParam<OffloadCase> {};

TEST_P(Offload, UpdatesToTheSameBits) {
  const OffloadCase& c = GetParam();
  const TemporaryDirectory d;
  const TokenSplit data = test::random_text(d);
  const auto whole = train_all_offloaded(c, false, data);
  EXPECT_NE(whole[0].watched.losses.front(), whole[0].watched.losses.back());
  const auto offloaded = train_all_offloaded(c, true, data);
  expect_offloaded_losses(offloaded, whole);
  if (c.clip_norm > 0) expect_same_bits(offloaded, whole);
}

TEST_P(Offload, CopiesWhatTheHostHoldsInAndOut) {
  const OffloadCase& c = GetParam();
  const auto plan = offload_plan(c, true);
  const PlanEntry& update = *plan->find_entry(c.accumulation > 1 ? "apply" : "train_step");
  int64_t held = 0;
  for (const State& state : plan->states) {
    if (state.resident < 0) continue;
    const int64_t elements = *element_count(state.shape).constant();
    held += state.resident * size_of(state.dtype);
    if (state.role == Role::optimizer) {
      EXPECT_GE(static_cast<double>(state.resident), c.share * static_cast<double>(elements));
    }
    EXPECT_LT(static_cast<double>(state.resident),
              c.share * static_cast<double>(elements) + 1 + static_cast<double>(elements) / c.pieces + 64);
  }
  EXPECT_GT(held, 0);
  const HostTraffic traffic = host_traffic(update, plan->states, plan->buffers, plan->symbols);
  EXPECT_EQ(traffic.in, held);
  EXPECT_EQ(traffic.out, held);
  EXPECT_GE(copies_of(*plan, update.name), 2) << "in and out";
}

INSTANTIATE_TEST_SUITE_P(All, Offload, ::testing::ValuesIn(kOffloadCases),
                         [](const auto& info) { return std::string(info.param.name); });

const OffloadCase& offload_case(std::string_view name) {
  return *std::ranges::find_if(kOffloadCases, [&](const OffloadCase& c) { return c.name == name; });
}

/// One goes on where the other has ended.
void expect_checkpoints_to_be_exchanged(const OffloadCase& c) {
  const TemporaryDirectory d;
  const TokenSplit data = test::random_text(d);
  const auto whole = train_all_offloaded(c, false, data);
  for (const bool first : {false, true}) {
    const auto directory = d / (first ? "offloaded first" : "offloaded last");
    train_all_offloaded(c, first, data, directory, 3, false);
    const auto rest = train_all_offloaded(c, !first, data, directory, 3, true);
    for (const auto& [name, bytes] : whole[0].states) EXPECT_TRUE(rest[0].states.at(name) == bytes) << name;
  }
}

TEST(OffloadedStates, AreInCheckpointsAsOthersAre) {
  expect_checkpoints_to_be_exchanged(offload_case("many_pieces_of_a_part"));
  expect_checkpoints_to_be_exchanged(offload_case("zero1"));
}

TEST(OffloadedStates, AreInThePlansFile) {
  const TemporaryDirectory d;
  const auto plan = offload_plan(offload_case("many_pieces_of_a_part"), true);
  save_plan(*plan, d / "p.plan");
  const auto read = load_plan(d / "p.plan");
  EXPECT_EQ(read->states, plan->states);
  EXPECT_EQ(copies_of(*read, "train_step"), copies_of(*plan, "train_step"));
}

TEST(OffloadedStates, AreOnTheDeviceInWindows) {
  CompileOptions options = offload_options(offload_case("seven_pieces"), true);
  options.target = "sm_90";
  const Program program = compile(offload_model(), options, Stage::program).program;
  int64_t windows = 0;
  for (const Buffer& buffer : program.buffers) windows += buffer.name.ends_with(" window");
  EXPECT_EQ(windows, 3 * 3) << "three of the masters and of each moment";
}

/// Nobody touches what a copy writes, or writes what it reads, before it is waited for.
TEST(OffloadedStates, AreCopiedBesideKernelsAndNoneTooEarly) {
  CompileOptions options = offload_options(offload_case("seven_pieces"), true);
  options.target = "sm_90";
  const Program program = compile(offload_model(), options, Stage::program).program;
  const PlanEntry& entry = *std::ranges::find(program.entries, "train_step", &PlanEntry::name);
  int beside = 0;  // kernels of the update that run while another piece is on its way in
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    const auto* copy = std::get_if<CopyStep>(&entry.steps[i].what);
    if (!copy || copy->waited_at < 0) continue;
    const bool in = is_held_by_host(program, copy->from);
    EXPECT_NE(in, is_held_by_host(program, copy->to));
    for (size_t later = i + 1; later < static_cast<size_t>(copy->waited_at); ++later) {
      EXPECT_FALSE(conflict(footprint(program, entry.steps[i]), footprint(program, entry.steps[later])))
          << i << " and " << later;
      beside += in && std::holds_alternative<KernelStep>(entry.steps[later].what);
    }
  }
  EXPECT_GE(beside, 6);
}

void expect_offload_refused(const OffloadCase& c, bool masters, const std::string& part) {
  CompileOptions options = offload_options(c, true);
  options.masters = masters;
  try {
    compile(offload_model(), options, Stage::program);
    ADD_FAILURE() << "expected: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("--offload-optimizer"), std::string::npos) << error.what();
  }
}

TEST(OffloadedStates, AreRefusedWhereAnUpdateNeedsAllOfThem) {
  expect_offload_refused({"lamb", Optimizer::lamb}, true, "'lamb.m'");
  expect_offload_refused({"lamb", Optimizer::lamb}, true, "it sums over elements");
  expect_offload_refused({"random", Optimizer::adamw}, false, "it draws random numbers");
  expect_offload_refused({"sgd", Optimizer::sgd, DType::f32}, true, "'parameters'");
}

TEST(OffloadedStates, AreAsManyAsABudgetAsksFor) {
  CompileOptions options = offload_options(offload_case("seven_pieces"), false);
  options.target = "sm_90", options.offload.bucket = 512;
  const auto bytes = [](const Compilation& made) {
    int64_t total = 0, arena = 0;
    for (const State& state : made.program.states)
      total += (*element_count(state.shape).constant() - std::max<int64_t>(0, state.resident)) *
               size_of(state.dtype);
    for (const PlanEntry& entry : made.program.entries) arena = std::max(arena, entry.arena_bytes);
    return total + arena;
  };
  const int64_t all = bytes(compile(offload_model(), options, Stage::program));
  options.memory_budget = all;
  EXPECT_EQ(compile(offload_model(), options, Stage::program).offload_bytes, 0);
  int64_t least = 0;
  for (const int64_t budget : {all - 4000, all - 20000}) {
    options.memory_budget = budget;
    const Compilation made = compile(offload_model(), options, Stage::program);
    EXPECT_LE(bytes(made), budget);
    EXPECT_GT(made.offload_bytes, least);
    least = made.offload_bytes;
  }
  options.memory_budget = all / 10;
  EXPECT_THROW(compile(offload_model(), options, Stage::program), Error);
}

}  // namespace
}  // namespace smelt
