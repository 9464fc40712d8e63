// Plans of ranks that share parameters: what each of them reads, begins with and sends.
#include <gtest/gtest.h>

#include <map>

#include "compiler/cli/commands/bench_training.h"
#include "compiler/driver/compile.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/checkpoint.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/session/session.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

Description described(const char* spec) {
  return {Description::Kind::spec, "spec.json", spec_from_json(spec), nullptr, Json::object(), {}};
}

CompileOptions parallel_options(const std::string& mesh) {
  CompileOptions options;
  options.build.dropout = 0.1;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 7}};
  options.entries = {"train_step"};
  if (!mesh.empty()) options.mesh = parse_mesh(mesh);
  return options;
}

/// Its checkpoints hold query, key and value as one matrix, transposed.
constexpr const char* kSharedGpt2 = R"({"family": "gpt2", "vocab_size": 24, "hidden": 16, "max_positions": 8,
                                        "decoder": {"layers": 1, "heads": 4}})";

/// Made once for all tests.
std::shared_ptr<const Plan> plan_over(const std::string& mesh) {
  static std::map<std::string, std::shared_ptr<const Plan>> made;
  auto& plan = made[mesh];
  if (!plan)
    plan = std::make_shared<const Plan>(compile(described(kSharedGpt2), parallel_options(mesh)).plan);
  return plan;
}

const State& parameters_of(const Session& session) { return *session.plan().find_state("parameters"); }

/// Each segment is the rank's part of the one of that name in `whole`.
void expect_parts(const Session& session, const Session& whole, int64_t rank) {
  const Mesh& mesh = session.plan().mesh;
  for (const Segment& segment : parameters_of(session).segments) {
    const std::vector<float> all = whole.read_segment("parameters", segment.name),
                             part = session.read_segment("parameters", segment.name);
    for (const PartRun& run : part_runs(segment, mesh, mesh.coordinates(rank)))
      for (int64_t i = 0; i < run.elements; ++i)
        ASSERT_EQ(part[static_cast<size_t>(run.in_part + i)], all[static_cast<size_t>(run.in_whole + i)])
            << segment.name << " of rank " << rank << " at " << run.in_part + i;
  }
}

TEST(TensorParallelPlans, RanksHaveTheirPartsOfEveryParameter) {
  const TemporaryDirectory d;
  Session whole(plan_over(""), {.threads = 1});
  whole.initialize(5);
  whole.save_weights(d / "model.safetensors");
  const auto plan = plan_over("model=2");
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    Session session(plan, {.threads = 1, .ranks = &ranks});
    session.initialize(5);  // draws what lies at the place of its part
    expect_parts(session, whole, ranks.rank());
    session.initialize(6);
    EXPECT_TRUE(session.load_weights(d / "model.safetensors").empty());
    expect_parts(session, whole, ranks.rank());
  });
}

/// Half of what is cut, all of what is not.
TEST(TensorParallelPlans, FlatStatesHaveOneRanksParts) {
  const auto one = plan_over(""), two = plan_over("model=2");
  int64_t cut = 0;
  for (const Segment& segment : two->find_state("parameters")->segments) {
    cut += is_cut(segment) ? 1 : 0;
    const bool vector_of_residual = segment.shape == std::vector<int64_t>{16};
    EXPECT_EQ(is_cut(segment), !vector_of_residual && !segment.name.ends_with("wpe.weight")) << segment.name;
  }
  EXPECT_EQ(cut, 1 + 6);  // words; of the block qkv, its bias, out, up, its bias, down
  for (const char* state : {"parameters", "adam.m", "adam.v"})
    EXPECT_LT(two->find_state(state)->shape[0].constant().value(),
              one->find_state(state)->shape[0].constant().value() * 2 / 3)
        << state;
}

TEST(TensorParallelPlans, LogitsAreNeverGathered) {
  for (const char* mesh : {"model=2", "data=2,model=4"}) {
    const Program program = compile(described(kSharedGpt2), parallel_options(mesh), Stage::program).program;
    int sums = 0;
    for (const Step& step : program.entries[0].steps)
      if (const auto* collective = std::get_if<CollectiveStep>(&step.what)) {
        EXPECT_EQ(collective->kind, CollectiveKind::all_reduce)
            << fmt::format("{}", fmt::join(step.sources, ", "));
        sums += collective->axis == "model" ? 1 : 0;
      }
    // Words, and behind the block's attention and FFN, forward and backward; the criterion's maximum, sum
    // and target; the gradient's norm.
    EXPECT_GE(sums, 1 + 2 * 2 + 3);
    EXPECT_LE(sums, 16);
  }
}

TEST(TensorParallelPlans, NamesEveryDimThatRanksDoNotDivide) {
  const char* odd = R"({"family": "llama", "vocab_size": 24, "hidden": 24, "max_positions": 8,
                        "decoder": {"layers": 1, "heads": 6, "kv_heads": 3, "ffn": 10}})";
  try {
    compile(described(odd), parallel_options("model=4"));
    FAIL() << "4 ranks divide 6 heads";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part :
         {"decoder.heads", "is 6", "decoder.kv_heads", "is 3", "decoder.ffn", "is 10", "4 ranks"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

/// An odd vocabulary stays whole.
TEST(TensorParallelPlans, AVocabularyThatRanksDoNotDivideIsWhole) {
  const char* odd = R"({"family": "gpt2", "vocab_size": 23, "hidden": 16, "max_positions": 8,
                        "decoder": {"layers": 1, "heads": 4}})";
  const Program program = compile(described(odd), parallel_options("model=2"), Stage::program).program;
  const auto parameters = std::ranges::find(program.states, "parameters", &State::name);
  for (const Segment& segment : parameters->segments)
    EXPECT_EQ(is_cut(segment), segment.name.find(".attn.") != std::string::npos
                                   ? !segment.name.ends_with("c_proj.bias")
                                   : segment.name.find("mlp.c_") != std::string::npos &&
                                         !segment.name.ends_with("c_proj.bias"))
        << segment.name;
}

float loss_of_step(Session& session) {
  session.initialize(5);
  session.set_random(3, 1);
  const PlanEntry& entry = session.entry("train_step");
  float loss = 0;
  const std::vector<HostTensor> data = cli::random_inputs(entry, session.plan().symbols);
  std::vector<InputTensor> inputs;
  for (const HostTensor& tensor : data)
    inputs.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes.data()});
  const OutputBuffer output{"loss", &loss, sizeof loss};
  for (int step = 0; step < 2; ++step) session.run("train_step", inputs, std::span(&output, 1));
  return loss;
}

/// T5 drops numbers between the FFN's two matrices, of which each rank has some: 6 and 16 of them.
TEST(TensorParallelPlans, DropsWhatOneRankDropsWithinTheFfn) {
  for (const int ffn : {12, 32}) {
    const std::string stack = fmt::format(R"({{"layers": 1, "heads": 2, "ffn": {}}})", ffn);
    const std::string spec = fmt::format(
        R"({{"family": "t5", "vocab_size": 24, "hidden": 16, "max_positions": 8, "encoder": {}, "decoder": {},
            "tokens": {{"pad": 0, "decoder_start": 0, "eos": [1]}}}})",
        stack, stack);
    CompileOptions options = parallel_options("");
    options.build.bounds.push_back({{"S"}, 6});
    Session whole(std::make_shared<const Plan>(compile(described(spec.c_str()), options).plan),
                  {.threads = 1});
    const float expected = loss_of_step(whole);
    options.mesh = parse_mesh("model=2");
    const auto plan = std::make_shared<const Plan>(compile(described(spec.c_str()), options).plan);
    test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
      Session session(plan, {.threads = 1, .ranks = &ranks});
      EXPECT_NEAR(loss_of_step(session), expected, 2e-6) << ffn;
    });
  }
}

TEST(TensorParallelPlans, PartsAreNotSavedAsIfTheyWereWhole) {
  const TemporaryDirectory d;
  const auto plan = plan_over("model=2");
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    Session session(plan, {.threads = 1, .ranks = &ranks});
    session.initialize(5);
    EXPECT_THROW(session.save_weights(d / "model.safetensors"), Error);
  });
}

}  // namespace
}  // namespace smelt
