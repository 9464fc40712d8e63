// Generation by ranks that share a model: the tokens of one rank, at every rank.
#include <gtest/gtest.h>

#include <mutex>

#include "compiler/driver/compile.h"
#include "runtime/base/error.h"
#include "runtime/engine/generation/generator.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

struct GenerationForm {
  std::string mesh = {};
  bool has_sampler = false;
  DType storage = DType::f32;
};

constexpr const char* kRankGpt2 = R"({"family": "gpt2", "vocab_size": 24, "hidden": 16, "max_positions": 24,
    "init": {"deviation": 0.3}, "decoder": {"layers": 2, "heads": 4}})";
constexpr const char* kRankMistral = R"({"family": "mistral", "vocab_size": 24, "hidden": 16,
    "max_positions": 48, "init": {"deviation": 0.3}, "attention": {"window": 3},
    "decoder": {"layers": 1, "heads": 8, "kv_heads": 4, "ffn": 24}})";
constexpr const char* kRankBart = R"({"family": "bart", "vocab_size": 24, "hidden": 16, "max_positions": 24,
    "init": {"deviation": 0.3}, "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]},
    "decoder": {"layers": 1, "heads": 4}, "encoder": {"layers": 1, "heads": 4}})";
constexpr const char* kRankT5 =
    R"({"family": "t5", "vocab_size": 23, "hidden": 16, "init": {"deviation": 0.3},
    "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]},
    "decoder": {"layers": 1, "heads": 4, "ffn": 32}, "encoder": {"layers": 1, "heads": 4, "ffn": 32}})";

CompileOptions generation_plan(const Description& description, const GenerationForm& form) {
  CompileOptions options;
  options.mode = Mode::infer, options.storage = form.storage;
  options.build.caches = true, options.build.has_sampler = form.has_sampler;
  options.build.bounds = {{{"B"}, 4}, {{"T"}, 24}};
  if (description.spec.encoder.layers > 0) options.build.bounds.push_back({{"S"}, 8});
  options.entries = {"decode", "reorder"};
  if (description.spec.encoder.layers > 0)
    options.entries.insert(options.entries.end(), {"encode", "reorder_sources"});
  if (form.has_sampler) options.entries.insert(options.entries.end(), {"next", "next_beams", "next_guided"});
  if (!form.mesh.empty()) options.mesh = parse_mesh(form.mesh);
  return options;
}

std::shared_ptr<const Plan> quantized_plan(const char* spec, const GenerationForm& form) {
  const Description description = {Description::Kind::spec, "spec.json", spec_from_json(spec), nullptr,
                                   Json::object(),          {}};
  CompileOptions options = generation_plan(description, form);
  options.weight_type = WeightType::int8;
  return std::make_shared<const Plan>(compile(description, options).plan);
}

std::shared_ptr<const Plan> generating_plan(const char* spec, const GenerationForm& form) {
  const Description description = {Description::Kind::spec, "spec.json", spec_from_json(spec), nullptr,
                                   Json::object(),          {}};
  return std::make_shared<const Plan>(compile(description, generation_plan(description, form)).plan);
}

/// Greedy, drawn, by beams, and by scores that look at the text.
std::vector<GenerationOptions> ways_to_generate() {
  GenerationOptions greedy;
  greedy.max_new_tokens = 9, greedy.decoder_start_token_id = 2;
  GenerationOptions drawn = greedy, beams = greedy, guided = greedy;
  drawn.do_sample = true, drawn.top_p = 0.9, drawn.seed = 5, drawn.num_return_sequences = 2;
  beams.num_beams = 3, beams.eos_token_id = {7};
  guided.no_repeat_ngram_size = 2, guided.repetition_penalty = 1.3;
  return {greedy, drawn, beams, guided};
}

using Texts = std::vector<std::vector<int32_t>>;

Texts all_texts(Session& session) {
  const Texts prompts = {{3, 9, 4}, {5}, {11, 3, 8, 6, 12}, {10, 20, 3}, {4, 4}};
  Generator generator(session);
  Texts texts;
  for (const GenerationOptions& options : ways_to_generate()) {
    if (options.num_beams == 1) {
      for (auto& text : generator.generate(prompts, options)) texts.push_back(std::move(text));
      continue;
    }
    for (const auto& found : generator.search(prompts, options))
      for (const Hypothesis& each : found) texts.push_back(each.tokens);
  }
  return texts;
}

void expect_texts_of_one_rank(const char* spec, const GenerationForm& form) {
  SCOPED_TRACE(form.mesh);
  GenerationForm alone = form;
  alone.mesh = {};
  Session one(generating_plan(spec, alone), {.threads = 1});
  one.initialize(5);
  const Texts expected = all_texts(one);
  const auto plan = generating_plan(spec, form);
  std::mutex mutex;
  int64_t ranks_seen = 0;
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    Session session(plan, {.threads = 1, .poison = true, .ranks = &ranks});
    session.initialize(5);
    const Texts texts = all_texts(session);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(texts, expected) << "rank " << ranks.rank();
    ++ranks_seen;
  });
  EXPECT_EQ(ranks_seen, plan->mesh.ranks());
}

TEST(RankGeneration, TextsOfTwoRanksAreThoseOfOne) {
  expect_texts_of_one_rank(kRankGpt2, {.mesh = "model=2"});
}

TEST(RankGeneration, TextsOfFourRanksAreThoseOfOne) {
  expect_texts_of_one_rank(kRankGpt2, {.mesh = "model=4"});
}

TEST(RankGeneration, TokensThatThePlanChooses) {
  expect_texts_of_one_rank(kRankGpt2, {.mesh = "model=2", .has_sampler = true});
}

TEST(RankGeneration, RingsOfWindows) { expect_texts_of_one_rank(kRankMistral, {.mesh = "model=4"}); }

TEST(RankGeneration, SourcesOfAnEncoder) { expect_texts_of_one_rank(kRankBart, {.mesh = "model=2"}); }

TEST(RankGeneration, SourcesAndTokensThatThePlanChooses) {
  expect_texts_of_one_rank(kRankBart, {.mesh = "model=2", .has_sampler = true});
}

/// All ranks have all words, which they do not divide.
TEST(RankGeneration, AnOddVocabularyAndBiasesByDistance) {
  expect_texts_of_one_rank(kRankT5, {.mesh = "model=4"});
}

int64_t cache_bytes_of(const Plan& plan) {
  int64_t bytes = 0;
  for (const State& state : plan.states)
    if (state.name.starts_with("cache.")) bytes += state_bytes(plan, state);
  return bytes;
}

/// Sixteen bits: a sum over ranks is rounded where one rank's is, and what ranks add up in another order may
/// be off by its last bit; so ranks are compared with each other.
TEST(RankGeneration, SixteenBits) {
  const auto plan = generating_plan(kRankGpt2, {.mesh = "model=2", .storage = DType::bf16});
  std::mutex mutex;
  std::vector<Texts> of_ranks;
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    Session session(plan, {.threads = 1, .ranks = &ranks});
    session.initialize(5);
    Texts texts = all_texts(session);
    const std::lock_guard lock(mutex);
    of_ranks.push_back(std::move(texts));
  });
  ASSERT_EQ(of_ranks.size(), 2u);
  EXPECT_EQ(of_ranks[0], of_ranks[1]);
  EXPECT_EQ(2 * cache_bytes_of(*plan), cache_bytes_of(*generating_plan(kRankGpt2, {.storage = DType::bf16})));
}

TEST(RankGeneration, EachRankHasItsHeadsOfTheCaches) {
  const int64_t one = cache_bytes_of(*generating_plan(kRankGpt2, {}));
  EXPECT_EQ(one, int64_t{2} * 2 * 4 * 24 * 16 * 4) << "blocks, keys and values, rows, places, width, bytes";
  for (const int64_t ranks : {2, 4})
    EXPECT_EQ(ranks * cache_bytes_of(*generating_plan(kRankGpt2, {.mesh = fmt::format("model={}", ranks)})),
              one);
}

Texts texts_of_one(const std::shared_ptr<const Plan>& plan) {
  Session session(plan, {.threads = 1});
  session.initialize(5);
  return all_texts(session);
}

/// Scales are of whole rows, whether ranks have rows of a weight or columns.
void expect_bytes_of_one_rank(const char* spec, const char* mesh) {
  const Texts one = texts_of_one(quantized_plan(spec, {}));
  const auto plan = quantized_plan(spec, {.mesh = mesh});
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    Session session(plan, {.threads = 1, .ranks = &ranks});
    session.initialize(5);
    EXPECT_EQ(all_texts(session), one) << "rank " << ranks.rank();
  });
}

TEST(RankGeneration, BytesOfWeightsAreThoseOfOneRank) { expect_bytes_of_one_rank(kRankGpt2, "model=4"); }
TEST(RankGeneration, BytesOfGroupedHeads) { expect_bytes_of_one_rank(kRankMistral, "model=2"); }
TEST(RankGeneration, BytesOfSources) { expect_bytes_of_one_rank(kRankBart, "model=2"); }

TEST(RankGeneration, EachRankHasItsPartOfTheBytes) {
  const auto bytes_of = [](const Plan& plan, const char* name) {
    int64_t elements = 0;
    for (const Segment& segment : plan.find_state(name)->segments) elements += segment.elements();
    return elements;
  };
  const auto one = quantized_plan(kRankGpt2, {}), two = quantized_plan(kRankGpt2, {.mesh = "model=2"});
  EXPECT_EQ(2 * bytes_of(*two, "parameters.i8"), bytes_of(*one, "parameters.i8"));
}

/// One launch of a device's graph runs the collectives, too.
TEST(RankGeneration, PlansForDevicesGatherLogitsOnceAToken) {
  const Description description = {Description::Kind::spec, "spec.json", spec_from_json(kRankGpt2), nullptr,
                                   Json::object(),          {}};
  CompileOptions options =
      generation_plan(description, {.mesh = "model=2", .has_sampler = true, .storage = DType::bf16});
  options.target = "sm_90";
  const Program program = compile(description, options, Stage::program).program;
  for (const auto& entry : program.entries) {
    if (!entry.name.starts_with("next")) continue;
    int gathers = 0, sums = 0;
    for (const Step& step : entry.steps)
      if (const auto* collective = std::get_if<CollectiveStep>(&step.what))
        ++(collective->kind == CollectiveKind::all_gather ? gathers : sums);
    EXPECT_EQ(gathers, 1) << entry.name;
    EXPECT_EQ(sums, 1 + 2 * 2) << entry.name;
  }
}

}  // namespace
}  // namespace smelt
