// Generation with caches gives the ids and scores of generation that reads whole sequences again, for every
// family: prompts of unequal length in one batch, longer than a window, up to the capacity; greedy, drawn and
// by beams.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/driver/compile.h"
#include "runtime/base/error.h"
#include "runtime/engine/generation/generator.h"

namespace smelt {
namespace {

constexpr int64_t kCapacity = 37, kSourceCapacity = 19, kBatch = 6;

struct CachedCase {
  const char* name;
  const char* spec;
};
void PrintTo(const CachedCase& c, std::ostream* out) { *out << c.name; }

#define SMELT_CACHED_SIZES \
  R"("vocab_size": 43, "hidden": 24, "max_positions": 40, "init": {"deviation": 0.3}, )"
#define SMELT_CACHED_DECODER SMELT_CACHED_SIZES R"("decoder": {"layers": 2, "heads": 4, "ffn": 33})"
#define SMELT_CACHED_GROUPED \
  SMELT_CACHED_SIZES         \
  R"("decoder": {"layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 6, "ffn": 33})"
#define SMELT_CACHED_BOTH SMELT_CACHED_DECODER R"(, "encoder": {"layers": 2, "heads": 4, "ffn": 31})"
constexpr CachedCase kCachedCases[] = {
    {"gpt2", R"({"family": "gpt2", )" SMELT_CACHED_DECODER "}"},
    {"opt", R"({"family": "opt", )" SMELT_CACHED_DECODER "}"},
    {"gpt_neox",
     R"({"family": "gpt_neox", "positions": {"rotary_fraction": 0.7}, )" SMELT_CACHED_DECODER "}"},
    {"bloom", R"({"family": "bloom", )" SMELT_CACHED_DECODER "}"},
    {"llama", R"({"family": "llama", )" SMELT_CACHED_GROUPED "}"},
    {"llama3", R"({"family": "llama", "positions": {"scaling": "llama3", "scaling_factor": 4,
                   "original_max_positions": 16, "high_freq_factor": 4}, )" SMELT_CACHED_GROUPED "}"},
    {"mistral", R"({"family": "mistral", "attention": {"window": 7}, )" SMELT_CACHED_GROUPED "}"},
    // Rings of 17 places, less than a prompt; of 21 among caches of whole rows; of one less than a row.
    {"window_2", R"({"family": "mistral", "attention": {"window": 2}, )" SMELT_CACHED_GROUPED "}"},
    {"window_from",
     R"({"family": "mistral", "attention": {"window": 6, "window_from": 1}, )" SMELT_CACHED_GROUPED "}"},
    {"window_21", R"({"family": "mistral", "attention": {"window": 21}, )" SMELT_CACHED_GROUPED "}"},
    {"window_distances",
     R"({"positions": {"kind": "relative_buckets", "buckets": 8}, "attention": {"window": 5}, )" SMELT_CACHED_DECODER
     "}"},
    {"window_bloom", R"({"family": "bloom", "attention": {"window": 5}, )" SMELT_CACHED_DECODER "}"},
    {"qwen2", R"({"family": "qwen2", )" SMELT_CACHED_GROUPED "}"},
    {"qwen3", R"({"family": "qwen3", )" SMELT_CACHED_GROUPED "}"},
    {"gemma", R"({"family": "gemma", )" SMELT_CACHED_GROUPED "}"},
    {"gemma2", R"({"family": "gemma2", "attention": {"window": 7}, )" SMELT_CACHED_GROUPED "}"},
    {"sinusoidal", R"({"positions": {"kind": "sinusoidal"}, )" SMELT_CACHED_DECODER "}"},
    {"distances", R"({"positions": {"kind": "relative_buckets", "buckets": 8}, )" SMELT_CACHED_DECODER "}"},
    {"bart",
     R"({"family": "bart", "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}, )" SMELT_CACHED_BOTH "}"},
    {"marian",
     R"({"family": "marian", "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}, )" SMELT_CACHED_BOTH "}"},
    {"t5",
     R"({"family": "t5", "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}, )" SMELT_CACHED_BOTH "}"}};

using Tokens = Generator::Tokens;
using Prompts = std::vector<Tokens>;

Description description_of(const char* text) {
  return {Description::Kind::spec, "spec.json", spec_from_json(text), nullptr, Json::object(), {}};
}

struct PlanForm {
  bool caches = true;
  AttentionForm attention = AttentionForm::automatic;
  DType storage = DType::f32;
  bool has_sampler = false;
};

/// The same weights in any form.
std::unique_ptr<Session> session_of(const char* spec, const PlanForm& form) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.attention = form.attention, options.storage = form.storage;
  options.build.bounds = {{{"B"}, kBatch}, {{"T"}, kCapacity}, {{"S"}, kSourceCapacity}};
  const Description description = description_of(spec);
  if (description.spec.encoder.layers == 0) options.build.bounds.pop_back();
  options.build.caches = form.caches, options.build.has_sampler = form.has_sampler;
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan),
                                           SessionOptions{.threads = 1, .poison = true});
  session->initialize(5);
  return session;
}

/// Of the lengths that are given, with ids that are no end and no padding.
Prompts random_prompts(std::initializer_list<size_t> lengths) {
  std::mt19937 random(3);
  Prompts prompts;
  for (const size_t length : lengths) {
    Tokens& prompt = prompts.emplace_back();
    while (prompt.size() < length) prompt.push_back(static_cast<int32_t>(3 + random() % 40));
  }
  return prompts;
}

/// As far as the capacity goes for the longest prompt, whatever ends early.
GenerationOptions long_options(bool reads_source) {
  GenerationOptions options;
  options.max_new_tokens = reads_source ? kCapacity : kCapacity + 1 - 17;
  options.decoder_start_token_id = 2;
  return options;
}

/// More than a batch, of several lengths.
Prompts unequal_prompts() { return random_prompts({1, 17, 5, 17, 2, 11, 8, 3}); }

/// Both ways of one model; plans are compiled once for all that is compared.
class BothWays {
 public:
  explicit BothWays(const char* spec, const PlanForm& form = {})
      : cached_session_(session_of(spec, form)), whole_session_(session_of(spec, {.caches = false})) {}

  bool reads_source() { return cached.reads_source(); }
  GenerationOptions options() { return long_options(reads_source()); }

  void expect_equal(const Prompts& prompts, const GenerationOptions& options) {
    const auto expected = whole.generate(prompts, options);
    EXPECT_EQ(cached.generate(prompts, options), expected);
    EXPECT_EQ(cached.generate(prompts, options), expected) << "with caches that are full";
  }
  void compare_log_probabilities();
  void compare_drawn();
  void compare_scores();
  void compare_forced();
  void compare_stopped();
  void expect_chosen_by_plan();
  void compare_beams();
  void compare_search(const GenerationOptions& searched);
  void compare_chat();
  void compare_masked();
  void compare_beyond_capacity();

 private:
  std::unique_ptr<Session> cached_session_, whole_session_;

 public:
  Generator cached{*cached_session_}, whole{*whole_session_};
};

void expect_close(float found, float expected) {
  EXPECT_NEAR(found, expected, 1e-5 * std::max(1.0f, std::abs(expected)));
}

void BothWays::compare_log_probabilities() {
  Generator::LogProbabilities found, expected;
  ASSERT_EQ(cached.generate(unequal_prompts(), options(), {}, {}, &found),
            whole.generate(unequal_prompts(), options(), {}, {}, &expected));
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t t = 0; t < found[i].size(); ++t) expect_close(found[i][t], expected[i][t]);
}

/// What the options make of scores without a look at the text.
void BothWays::compare_scores() {
  GenerationOptions bent = options();
  bent.repetition_penalty = 1.4, bent.min_new_tokens = 6, bent.eos_token_id = {4, 7, 20};
  bent.sequence_bias = {{{5}, 0.7}, {{6}, -0.9}}, bent.bad_words_ids = {{8}, {4}};
  bent.suppress_tokens = {9, 10}, bent.begin_suppress_tokens = {11, 12};
  expect_equal(unequal_prompts(), bent);
  bent = options(), bent.min_length = 14, bent.eos_token_id = {4, 7, 20, 30, 31};
  expect_equal(unequal_prompts(), bent);
  bent = options(), bent.allowed_token_ids = {3, 5, 9, 20, 21, 25}, bent.suppress_tokens = {9};
  expect_equal(unequal_prompts(), bent);
}

void BothWays::compare_forced() {
  GenerationOptions forced = options();
  forced.forced_bos_token_id = 13, forced.forced_eos_token_id = {7}, forced.max_new_tokens = 9;
  forced.min_new_tokens = 9, forced.eos_token_id = {7}, forced.begin_suppress_tokens = {14, 15, 16};
  expect_equal(unequal_prompts(), forced);
}

/// By whoever listens: what comes next goes on from the right place.
void BothWays::compare_stopped() {
  const auto all = whole.generate(unequal_prompts(), options());
  size_t calls = 0, tokens = 0;
  const auto heard =
      cached.generate(unequal_prompts(), options(), [&](size_t, int32_t) { return ++calls < 11; });
  for (size_t i = 0; i < heard.size(); ++i) {
    ASSERT_LE(heard[i].size(), all[i].size());
    EXPECT_TRUE(std::equal(heard[i].begin(), heard[i].end(), all[i].begin())) << i;
    tokens += heard[i].size();
  }
  EXPECT_EQ(tokens, 11U);
  expect_equal(unequal_prompts(), options());
}

/// The host has left the choice to the entries that choose.
void BothWays::expect_chosen_by_plan() {
  Session& session = *cached_session_;
  const auto left = [&](const char* state) {
    const auto all = session.peek(state);
    return std::ranges::any_of(all, [](std::byte b) { return b != std::byte{}; });
  };
  EXPECT_TRUE(left("next.tokens"));
  EXPECT_TRUE(left("beams.candidate_tokens"));
}

void BothWays::compare_drawn() {
  GenerationOptions drawn = options();
  drawn.do_sample = true, drawn.seed = 11, drawn.num_return_sequences = 2, drawn.top_p = 0.9;
  drawn.eos_token_id = {4, 7};  // rows end at different places
  expect_equal(unequal_prompts(), drawn);
}

void BothWays::compare_beams() {
  GenerationOptions searched = options();
  searched.max_new_tokens = 12, searched.num_beams = 3, searched.num_return_sequences = 2;
  searched.eos_token_id = {4, 7};
  compare_search(searched);
  searched.num_beams = 2, searched.early_stopping = EarlyStopping::yes, searched.length_penalty = -0.5;
  searched.min_new_tokens = 3, searched.sequence_bias = {{{5}, 0.7}}, searched.suppress_tokens = {9, 10};
  searched.forced_bos_token_id = 13, searched.forced_eos_token_id = {7};
  compare_search(searched);
  searched = options(), searched.max_new_tokens = 7;
  searched.num_beams = kBatch + 2, searched.num_return_sequences = 3;  // more than the plan has rows
  compare_search(searched);
}

void BothWays::compare_search(const GenerationOptions& searched) {
  const auto found = cached.search(unequal_prompts(), searched),
             expected = whole.search(unequal_prompts(), searched);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t j = 0; j < expected[i].size(); ++j) {
      EXPECT_EQ(found[i][j].tokens, expected[i][j].tokens) << i << " " << j;
      expect_close(found[i][j].score, expected[i][j].score);
    }
}

/// A text that goes on, of which the caches hold all but the last words, and others that begin like it, for
/// which a ring does not hold enough.
void BothWays::compare_chat() {
  GenerationOptions few;
  few.max_new_tokens = 4;
  Prompts chat = random_prompts({5});
  for (int turn = 0; turn < 4 && !reads_source(); ++turn) {
    const auto found = cached.generate(chat, few);
    EXPECT_EQ(found, whole.generate(chat, few)) << turn;
    chat[0].insert(chat[0].end(), found[0].begin(), found[0].end());
    chat[0].push_back(9);
  }
  for (size_t kept = chat[0].size(); kept > 1 && !reads_source(); kept -= 3) {
    const Prompts shorter = {{chat[0].begin(), chat[0].begin() + static_cast<int64_t>(kept)}};
    EXPECT_EQ(cached.generate(shorter, few), whole.generate(shorter, few)) << kept << " tokens";
    EXPECT_EQ(cached.generate(chat, few), whole.generate(chat, few)) << "behind " << kept << " tokens";
  }
}

/// Padding at the left, as Hugging Face has it.
void BothWays::compare_masked() {
  Prompts prompts = random_prompts({3, 9, 6}), masks;
  for (Tokens& prompt : prompts) {
    const size_t padding = 9 - prompt.size();
    masks.emplace_back(9, 1);
    std::fill_n(masks.back().begin(), padding, 0);
    prompt.insert(prompt.begin(), padding, 1);
  }
  EXPECT_EQ(cached.generate(prompts, options(), {}, masks), whole.generate(prompts, options(), {}, masks));
}

void BothWays::compare_beyond_capacity() {
  GenerationOptions many = options();
  many.max_new_tokens = kCapacity + 9;
  try {
    cached.generate(unequal_prompts(), many);
    ADD_FAILURE() << "no Error";
  } catch (const Error& error) {
    for (const char* part : {"46", "37"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  many.sliding_window = true;
  expect_equal(unequal_prompts(), many);
}

class CachedGeneration : public ::testing::TestWithParam<CachedCase> {};

TEST_P(CachedGeneration, GivesWhatWholeSequencesGive) {
  BothWays model(GetParam().spec);
  model.expect_equal(unequal_prompts(), model.options());
  model.compare_log_probabilities();
  model.compare_drawn();
  model.compare_beams();
  model.compare_chat();
  model.compare_masked();
  model.compare_beyond_capacity();
}

TEST_P(CachedGeneration, PlansThatChooseTokensGiveTheSame) {
  BothWays model(GetParam().spec, {.has_sampler = true});
  model.expect_equal(unequal_prompts(), model.options());
  model.compare_log_probabilities();
  model.compare_drawn();
  model.compare_scores();
  model.compare_forced();
  model.compare_beams();
  model.compare_chat();
  model.compare_masked();
  model.compare_stopped();
  model.expect_chosen_by_plan();
}

TEST_P(CachedGeneration, AttentionByBlocksGivesTheSame) {
  BothWays model(GetParam().spec, {.attention = AttentionForm::fused});
  model.expect_equal(unequal_prompts(), model.options());
}

TEST_P(CachedGeneration, NarrowCachesHaveTheStorageType) {
  const auto session = session_of(GetParam().spec, {.storage = DType::bf16});
  for (const State& state : session->plan().states)
    if (state.role == Role::cache && is_float(state.dtype)) {
      EXPECT_EQ(state.dtype, DType::bf16) << state.name;
    }
  Generator generator(*session);
  Generator::LogProbabilities found;
  generator.generate(unequal_prompts(), long_options(generator.reads_source()), {}, {}, &found);
  for (const auto& row : found)
    for (const float x : row) EXPECT_TRUE(std::isfinite(x));
}

INSTANTIATE_TEST_SUITE_P(All, CachedGeneration, ::testing::ValuesIn(kCachedCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CachedPlans, WhatHasNoCachesSaysWhy) {
  const auto fault = [](const char* spec, BuildOptions options) {
    options.caches = true;
    try {
      build_transformer(spec_from_json(spec), options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no Error");
  };
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const char* gpt2 = R"({"family": "gpt2", )" SMELT_CACHED_DECODER "}";
  expect(fault(gpt2, {.training = true}), "expected --mode=infer");
  expect(fault(gpt2, {.training = false, .segment_ids = true}),
         "expected neither segment_ids nor position_ids");
  expect(fault(R"({"family": "bert", )" SMELT_CACHED_SIZES R"("encoder": {"layers": 1, "heads": 2}})", {}),
         "nothing is generated");
  const char* dynamic =
      R"({"family": "llama", "positions": {"scaling": "dynamic", "scaling_factor": 2}, )" SMELT_CACHED_DECODER
      "}";
  expect(fault(dynamic, {.bounds = {{{"T"}, 41}}, .training = false}), "the scalings dynamic and longrope");
  EXPECT_TRUE(keeps_caches(spec_from_json(dynamic),
                           {.bounds = {{{"T"}, 40}}, .training = false, .caches = std::nullopt}));
  EXPECT_FALSE(keeps_caches(spec_from_json(dynamic),
                            {.bounds = {{{"T"}, 41}}, .training = false, .caches = std::nullopt}));
  EXPECT_FALSE(keeps_caches(spec_from_json(gpt2), {}));
}

/// One block's queries see 100 keys, whose ring has the 64 places of a run beside.
TEST(CachedPlans, BlocksWithAWindowKeepARing) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 700}};
  options.build.caches = true, options.build.has_sampler = true;
  const char* spec = R"({"family": "mistral", "vocab_size": 43, "hidden": 24, "max_positions": 700,
                         "attention": {"window": 100, "window_from": 2},
                         "decoder": {"layers": 3, "heads": 4, "kv_heads": 2}})";
  const auto places = [&](const char* state, const Plan& plan) {
    return *plan.find_state(state)->shape[1].constant();
  };
  const Plan plan = compile(description_of(spec), options).plan;
  EXPECT_EQ(places("cache.decoder.1.key", plan), 700);
  EXPECT_EQ(places("cache.decoder.2.key", plan), 99 + 64);
  EXPECT_EQ(places("cache.decoder.2.value", plan), 99 + 64);
  EXPECT_EQ(plan.symbols.upper(Dim::symbol("R")), 64);
  options.build.bounds[1].upper = 160;  // a ring would be no smaller
  const Plan small = compile(description_of(spec), options).plan;
  EXPECT_EQ(places("cache.decoder.2.key", small), 160);
  EXPECT_FALSE(small.symbols.declared("R"));
}

TEST(CachedPlans, KeysAndValuesArePutWhereTheyStay) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 700}};
  options.build.caches = true;
  const char* spec = R"({"family": "llama", "vocab_size": 43, "hidden": 24, "max_positions": 700,
                         "decoder": {"layers": 3, "heads": 4, "kv_heads": 2}})";
  const Plan plan = compile(description_of(spec), options).plan;
  int64_t caches = 0;
  for (const State& state : plan.states)
    if (state.role == Role::cache) caches += state_bytes(plan, state);
  EXPECT_EQ(caches, 3 * 2 * 2 * 700 * 12 * 4);
  for (const PlanEntry& entry : plan.entries) {
    if (entry.name != "decode" && entry.name != "reorder") continue;
    for (const Step& step : entry.steps) {
      const auto* copy = std::get_if<CopyStep>(&step.what);
      if (!copy) continue;
      const Buffer& to = plan.buffers[static_cast<size_t>(copy->to.buffer)];
      EXPECT_TRUE(to.state < 0 || plan.states[static_cast<size_t>(to.state)].role != Role::cache)
          << entry.name;
    }
  }
}

}  // namespace
}  // namespace smelt
