// Inference over ranks that share a model: every entry gives and leaves what it does on one rank.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "frontend/build_transformer.h"
#include "ir/evaluate/evaluate_ranks.h"
#include "ir/graph/verifier.h"
#include "passes/graph/sharding/partition.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/pass_manager.h"
#include "runtime/plan/segment_parts.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

struct SharedModel {
  const char* name;
  const char* spec;
};
void PrintTo(const SharedModel& model, std::ostream* out) { *out << model.name; }

#define SMELT_INFERENCE_SIZES R"("vocab_size": 20, "hidden": 8, "max_positions": 40)"
#define SMELT_RANK_DECODER SMELT_INFERENCE_SIZES R"(, "decoder": {"layers": 1, "heads": 4, "ffn": 12})"
#define SMELT_RANK_GROUPED \
  SMELT_INFERENCE_SIZES R"(, "decoder": {"layers": 1, "heads": 8, "kv_heads": 4, "head_dim": 4, "ffn": 12})"
#define SMELT_RANK_BOTH SMELT_RANK_DECODER R"(, "encoder": {"layers": 1, "heads": 4, "ffn": 12})"
constexpr SharedModel kSharedModels[] = {
    {"gpt2", R"({"family": "gpt2", )" SMELT_RANK_DECODER "}"},
    {"llama", R"({"family": "llama", )" SMELT_RANK_GROUPED "}"},
    {"mistral", R"({"family": "mistral", "attention": {"window": 2}, )" SMELT_RANK_GROUPED "}"},  // a ring
    {"bloom", R"({"family": "bloom", )" SMELT_RANK_DECODER "}"},
    {"gpt_neox", R"({"family": "gpt_neox", "positions": {"rotary_fraction": 1}, )" SMELT_RANK_DECODER "}"},
    {"bart",
     R"({"family": "bart", "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}, )" SMELT_RANK_BOTH "}"},
    {"t5", R"({"family": "t5", "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}, )" SMELT_RANK_BOTH "}"}};

struct InferenceForm {
  std::string mesh = {};
  int64_t pages = 0;
  std::vector<CollectiveEntry>* log = nullptr;
};

void apply(Module& module, std::string_view pipeline) {
  PassManager passes;
  passes.add(pipeline);
  passes.run(module);
}

/// The entries of inference in primitives, on one rank or over a mesh.
std::unique_ptr<Module> inference_module(const char* text, const InferenceForm& form) {
  BuildOptions build{.training = false, .caches = true, .has_sampler = true, .cache_pages = form.pages};
  if (!form.mesh.empty()) build.mesh = parse_mesh(form.mesh);
  const TransformerSpec spec = spec_from_json(text);
  build.bounds = {{{"B"}, 2}, {{"T"}, 40}};
  if (spec.encoder.layers > 0) build.bounds.push_back({{"S"}, 5});
  auto module = build_transformer(spec, build);
  apply(*module, "decompose,simplify");
  flatten_parameters(*module, {});
  apply(*module, "decompose,drop_stops,simplify,rewrite_reductions,simplify");
  if (form.mesh.empty()) return module;
  apply(*module, "propagate_shardings");
  partition(*module, {.whole_outputs = true, .log = form.log});
  for (const auto& graph : module->graphs) graph->prune();
  verify_or_throw(*module);
  return module;
}

/// Small numbers, which are tokens, places and rows; what is drawn from is a distribution.
Tensors fed_inputs(const Graph& graph, const SymbolValues& symbols) {
  Tensors inputs = testing::random_inputs(graph, 3, symbols, 2);
  if (const auto numbers = inputs.find("numbers"); numbers != inputs.end())
    for (size_t i = 0; i < numbers->second.data.size(); ++i)
      numbers->second.data[i] = std::array{0.8, 0.9, 0.01}[i % 3];
  if (const auto lengths = inputs.find("lengths"); lengths != inputs.end())
    for (double& length : lengths->second.data) length += 1;
  return inputs;
}

/// Parameters in the shapes that ranks' flat states have them in.
Tensors in_ranks_shapes(const Module& local, Tensors states) {
  for (const State& state : local.states)
    for (const Segment& segment : state.segments)
      if (const auto found = states.find(segment.name); found != states.end())
        found->second.shape = whole_shape(segment);
  return states;
}

void expect_equal_entries(const char* spec, const InferenceForm& form) {
  SCOPED_TRACE(form.mesh);
  const auto one = inference_module(spec, {.pages = form.pages}), local = inference_module(spec, form);
  EvaluateOptions evaluation;
  evaluation.symbols = {{"B", 2}, {"T", 3}, {"S", 4}, {"R", 3}, {"N", 1}, {"K", 2}};
  const Tensors states = testing::random_states(*one, 4, {}), given = in_ranks_shapes(*local, states);
  for (const auto& graph : local->graphs) {
    SCOPED_TRACE(graph->name);
    const Graph& whole = *one->find_graph(graph->name);
    const Tensors inputs = fed_inputs(whole, evaluation.symbols);
    const Evaluation expected = evaluate(whole, inputs, states, evaluation);
    const Evaluation actual = evaluate_ranks(*graph, inputs, given, evaluation);
    EXPECT_LE(testing::relative_error(actual.outputs, expected.outputs), 1e-12);
    for (const auto& [name, state] : expected.states)
      EXPECT_LE(testing::relative_error(actual.states.at(name), state), 1e-12) << name;
  }
}

class RankInference : public ::testing::TestWithParam<SharedModel> {};

TEST_P(RankInference, EntriesAreThoseOfOneRank) {
  expect_equal_entries(GetParam().spec, {.mesh = "model=2"});
}
TEST_P(RankInference, EntriesOfFourRanks) { expect_equal_entries(GetParam().spec, {.mesh = "model=4"}); }

INSTANTIATE_TEST_SUITE_P(All, RankInference, ::testing::ValuesIn(kSharedModels),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RankInferenceMeshes, BesideRanksThatDoTheSame) {
  expect_equal_entries(kSharedModels[0].spec, {.mesh = "data=2,model=2"});
}

TEST(RankInferenceMeshes, CachesInPages) {
  expect_equal_entries(kSharedModels[1].spec, {.mesh = "model=2", .pages = 7});
}

/// Ranks need each other behind attention and FFN, for words that they do not have, and once for the logits
/// that all of them choose from.
TEST(RankInferenceMeshes, GatherLogitsOnceAToken) {
  for (const int64_t pages : {0, 7}) {
    std::vector<CollectiveEntry> log;
    inference_module(kSharedModels[0].spec, {.mesh = "model=2", .pages = pages, .log = &log});
    std::map<std::string, int> gathers, sums;
    for (const CollectiveEntry& entry : log) ++(entry.kind == "all_gather" ? gathers : sums)[entry.graph];
    const std::vector<std::string> of_pages = {"decode_pages", "next_pages"};
    const std::vector<std::string> of_rows = {"decode", "next", "next_beams", "next_guided",
                                              "next_beams_guided"};
    for (const std::string& entry : pages > 0 ? of_pages : of_rows) {
      EXPECT_EQ(gathers[entry], 1) << entry << "\n" << explain(log);
      EXPECT_EQ(sums[entry], 1 + 2) << entry;
    }
    EXPECT_FALSE(gathers.contains("reorder") || sums.contains("reorder"));
  }
}

/// A mask is of all heads.
TEST(RankInferenceMeshes, RanksKeepTheirOwnHeads) {
  const auto module = inference_module(kSharedModels[5].spec, {.mesh = "model=4"});
  int caches = 0;
  for (const State& state : module->states) {
    if (!state.name.starts_with("cache.")) continue;
    const bool has_heads = state.name.find("mask") == std::string::npos;
    caches += has_heads ? 1 : 0;
    EXPECT_EQ(state.shape[2], Dim(1)) << state.name;
    EXPECT_EQ(state.whole.empty() ? Dim(1) : state.whole[2], Dim(has_heads ? 4 : 1)) << state.name;
  }
  EXPECT_EQ(caches, 4);
}

}  // namespace
}  // namespace smelt
