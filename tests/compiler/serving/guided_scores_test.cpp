// What a graph makes of scores by the text behind them, compared with the host's processors to the bit: each
// processor alone, of which there is a plain reference here, and any of them together.
#include "frontend/blocks/guided_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "compiler/driver/compile.h"
#include "runtime/engine/generation/loop_choice.h"
#include "runtime/engine/generation/run_ahead.h"
#include "runtime/engine/generation/text_inputs.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

constexpr int64_t kTexts = 40, kWords = 19, kTextPlacesOfRow = 24, kSourcePlaces = 11;
constexpr size_t kRandomCases = 10000;

using Ids = std::vector<int32_t>;
using Scores = std::vector<double>;

/// One row of a run.
struct Row {
  Ids tokens, source;
  size_t prompt_length, padding;
  std::vector<float> scores;

  History history() const { return {tokens, prompt_length, padding, source}; }
};

/// A graph of inputs and states that @next_guided has, from scores to scores.
class ScoresOfAGraph {
 public:
  /// As a CPU runs it, or with the kernels of a GPU on the host.
  explicit ScoresOfAGraph(bool on_gpu) {
    auto module = std::make_unique<Module>();
    module->symbols.bound({"B"}, kTexts);
    TransformerSpec spec = spec_from_json(
        R"({"family": "gpt2", "vocab_size": 19, "hidden": 4, "max_positions": 24, "decoder": {"layers": 1, "heads": 1}})");
    complete(spec);
    BlockBuilder b{.graph = GraphBuilder(module->add_graph("scores")),
                   .spec = spec,
                   .names = ParameterNames(spec),
                   .dropout = {}};
    build(b);
    session_ = std::make_unique<Session>(std::make_shared<const Plan>(plan_of(std::move(module), on_gpu)),
                                         SessionOptions{.threads = 1, .poison = true});
  }

  const Plan& plan() const { return session_->plan(); }

  std::vector<float> of(std::span<const Row> rows, const GenerationOptions& options) {
    std::vector<History> histories;
    TextInputs inputs(plan(), options);
    std::vector<float> scores;
    for (const Row& row : rows) {
      histories.push_back(row.history());
      inputs.add(row.history(), row.tokens.size() - row.padding);
      scores.insert(scores.end(), row.scores.begin(), row.scores.end());
    }
    set_text_states(*session_, histories, options);
    const auto past = numbers<int32_t>(session_->state(state::next_past));
    for (size_t i = 0; i < rows.size(); ++i)
      past[i] = static_cast<int32_t>(rows[i].tokens.size() - rows[i].padding) - 1;
    std::vector<InputTensor> all = inputs.tensors();
    all.push_back({"scores", DType::f32, {std::ssize(rows), kWords}, scores.data()});
    const auto found = session_->run("scores", all);
    const auto values = found[0].as<float>();
    return {values.begin(), values.end()};
  }

 private:
  static Plan plan_of(std::unique_ptr<Module> module, bool on_gpu) {
    CompileOptions options;
    options.mode = Mode::infer;
    if (!on_gpu) return compile(std::move(module), options).plan;
    options.target = "sm_90";
    return test::plan_on_host(compile(std::move(module), options, Stage::program).program);
  }

  static void build(BlockBuilder& b) {
    GraphBuilder& g = b.graph;
    const Dim rows = Dim::symbol("B");
    declare_state(b, state::next_past, Role::cache, DType::i32, {kTexts});
    declare_state(b, state::next_bias, Role::cache, DType::f32, {kTexts, kWords});
    declare_text_states(b, kTexts, kTextPlacesOfRow - 1, kSourcePlaces);
    Value* scores = g.input("scores", {DType::f32, {rows, kWords}});
    TokenChoice choice{.rows = g.iota({DType::i32, {rows}}, 0)};
    choice.past = rows_of_state(b, state::next_past, rows, kTextPlacesOfRow - 1);
    g.output("guided", guided_scores(b, scores, choice, text_choice_inputs(b, choice.rows)));
  }

  std::unique_ptr<Session> session_;
};

class RandomRows {
 public:
  explicit RandomRows(uint32_t seed) : random_(seed) {}

  size_t below(size_t count) { return random_() % count; }
  bool one_of(size_t count) { return below(count) == 0; }
  /// Of few words, so that they come again.
  Ids tokens(size_t count, size_t words) {
    Ids result(count);
    for (int32_t& token : result) token = static_cast<int32_t>(below(words));
    return result;
  }
  double number(double least, double most) {
    return least + (most - least) * static_cast<double>(random_()) / 4294967296.0;
  }

  /// `invalid`: some scores are no numbers.
  Row row(bool invalid) {
    const size_t words = one_of(2) ? 3 : kWords, length = 1 + below(kTextPlacesOfRow - 1);
    Row row{tokens(length, words), tokens(below(kSourcePlaces + 1), one_of(3) ? 25 : words), 0, 0, {}};
    row.prompt_length = 1 + below(length);
    row.padding = one_of(3) ? below(row.prompt_length) : 0;
    for (int64_t i = 0; i < kWords; ++i) row.scores.push_back(static_cast<float>(number(-4, 4)));
    if (one_of(4)) row.scores[below(kWords)] = -INFINITY;
    for (const float x : {NAN, INFINITY, -INFINITY})
      if (invalid && one_of(2)) row.scores[below(kWords)] = x;
    return row;
  }

  std::vector<Row> rows(bool invalid) {
    std::vector<Row> result;
    const size_t count = 1 + below(kTexts);
    while (result.size() < count) result.push_back(row(invalid));
    return result;
  }

 private:
  std::mt19937 random_;
};

// ---- a plain reference of each processor, in f32

using Reference = void (*)(const GenerationOptions&, const Row&, std::vector<float>&);

bool ends_with(const Row& row, const Ids& phrase) {
  const auto before = std::span(phrase).first(phrase.size() - 1);
  if (before.empty()) return true;
  return phrase.size() <= row.tokens.size() &&
         std::equal(before.rbegin(), before.rend(), row.tokens.rbegin());
}

void bias_phrases(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  std::vector<float> sums(kWords);
  for (const auto& [tokens, bias] : options.sequence_bias)
    if (tokens.size() == 1) sums[static_cast<size_t>(tokens[0])] += static_cast<float>(bias);
  for (const auto& [tokens, bias] : options.sequence_bias)
    if (tokens.size() > 1 && ends_with(row, tokens))
      sums[static_cast<size_t>(tokens.back())] += static_cast<float>(bias);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] += sums[i];
}

void penalise(const Ids& tokens, float penalty, std::vector<float>& scores) {
  for (size_t i = 0; i < scores.size(); ++i)
    if (std::ranges::count(tokens, static_cast<int32_t>(i)) > 0)
      scores[i] = scores[i] < 0 ? scores[i] * penalty : scores[i] / penalty;
}

void penalise_source(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  penalise(row.source, static_cast<float>(1 / options.encoder_repetition_penalty), scores);
}

void penalise_text(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  penalise({row.tokens.begin() + static_cast<ptrdiff_t>(row.padding), row.tokens.end()},
           static_cast<float>(options.repetition_penalty), scores);
}

/// Whether a token would make an n-gram that the text has.
void ban_repeats(const Ids& text, const Ids& tokens, size_t n, std::vector<float>& scores) {
  if (tokens.size() + 1 < n) return;
  for (size_t word = 0; word < scores.size(); ++word) {
    Ids ngram(tokens.end() - static_cast<ptrdiff_t>(n - 1), tokens.end());
    ngram.push_back(static_cast<int32_t>(word));
    if (!std::ranges::search(text, ngram).empty()) scores[word] = -INFINITY;
  }
}

void ban_ngrams_of_text(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  ban_repeats(row.tokens, row.tokens, static_cast<size_t>(options.no_repeat_ngram_size), scores);
}

void ban_ngrams_of_source(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  ban_repeats(row.source, row.tokens, static_cast<size_t>(options.encoder_no_repeat_ngram_size), scores);
}

void ban_phrases(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  for (const Ids& word : options.bad_words_ids)
    if (ends_with(row, word) && !(word.size() == 1 && options.ends(word[0])))
      scores[static_cast<size_t>(word.back())] = -INFINITY;
}

void replace_invalid(const GenerationOptions&, const Row&, std::vector<float>& scores) {
  constexpr float kMost = std::numeric_limits<float>::max();
  for (float& score : scores) score = std::isnan(score) ? 0 : std::min(std::max(score, -kMost), kMost);
}

void grow_ends(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  const auto [start, factor] = *options.exponential_decay_length_penalty;
  const int64_t beyond = std::ssize(row.tokens) - static_cast<int64_t>(row.prompt_length) - start;
  for (size_t i = 0; i < scores.size() && beyond > 0; ++i) {
    const float more =
        std::abs(scores[i]) * static_cast<float>(std::pow(factor, static_cast<double>(beyond)) - 1);
    if (options.ends(static_cast<int32_t>(i)) && std::isfinite(scores[i])) scores[i] = scores[i] + more;
  }
}

void hold_ends(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  const size_t fresh = row.tokens.size() - row.prompt_length;
  const bool early = options.min_new_tokens > 0 ? fresh < static_cast<size_t>(options.min_new_tokens)
                                                : row.tokens.size() < static_cast<size_t>(options.min_length);
  for (const int32_t end : options.eos_token_id)
    if (early) scores[static_cast<size_t>(end)] = -INFINITY;
}

void force_tokens(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  const auto alone = [&](const Ids& tokens) {
    std::ranges::fill(scores, -INFINITY);
    for (const int32_t token : tokens) scores[static_cast<size_t>(token)] = 0;
  };
  if (row.tokens.size() == 1) alone({*options.forced_bos_token_id});
  if (std::ssize(row.tokens) + 1 - static_cast<int64_t>(row.prompt_length) == options.max_new_tokens)
    alone(options.forced_eos_token_id);
}

void suppress_words(const GenerationOptions& options, const Row& row, std::vector<float>& scores) {
  for (const int32_t token : options.suppress_tokens) scores[static_cast<size_t>(token)] = -INFINITY;
  for (size_t token = 0; token < scores.size(); ++token)
    if (!options.allowed_token_ids.empty() &&
        std::ranges::count(options.allowed_token_ids, static_cast<int32_t>(token)) == 0)
      scores[token] = -INFINITY;
  if (row.tokens.size() > row.prompt_length) return;
  for (const int32_t token : options.begin_suppress_tokens) scores[static_cast<size_t>(token)] = -INFINITY;
}

// ---- random options of each

using Set = void (*)(RandomRows&, GenerationOptions&);

void set_biases(RandomRows& random, GenerationOptions& options) {
  for (size_t i = 0; i < 6; ++i)
    options.sequence_bias.push_back(
        {random.tokens(1 + random.below(i < 4 ? 3 : 8), 3), random.number(-3, 3)});
  std::map<int32_t, int> phrases;
  std::erase_if(options.sequence_bias, [&](const SequenceBias& bias) {
    return bias.tokens.size() > 1 && ++phrases[bias.tokens.back()] > kBiasesOfToken;
  });
}
void set_bad_words(RandomRows& random, GenerationOptions& options) {
  options.eos_token_id = random.tokens(random.below(3), kWords);
  for (size_t i = 0; i < 9; ++i)
    options.bad_words_ids.push_back(random.tokens(1 + random.below(i < 6 ? 3 : 8), i < 3 ? 2 : 5));
}
void set_source_penalty(RandomRows& random, GenerationOptions& options) {
  options.encoder_repetition_penalty = random.number(0.5, 3);
}
void set_penalty(RandomRows& random, GenerationOptions& options) {
  options.repetition_penalty = random.number(0.5, 3);
}
void set_ngrams(RandomRows& random, GenerationOptions& options) {
  options.no_repeat_ngram_size = static_cast<int64_t>(1 + random.below(random.one_of(4) ? kMostNgram : 4));
}
void set_source_ngrams(RandomRows& random, GenerationOptions& options) {
  options.encoder_no_repeat_ngram_size =
      static_cast<int64_t>(1 + random.below(random.one_of(4) ? kMostNgram : 4));
}
void set_invalid(RandomRows&, GenerationOptions& options) { options.remove_invalid_values = true; }
void set_growth(RandomRows& random, GenerationOptions& options) {
  options.eos_token_id = random.tokens(1 + random.below(kWords), kWords);
  options.exponential_decay_length_penalty = {static_cast<int64_t>(random.below(5)), random.number(0.8, 2)};
}
void set_fewest(RandomRows& random, GenerationOptions& options) {
  options.eos_token_id = random.tokens(1 + random.below(kWords), kWords);
  options.min_length = static_cast<int64_t>(random.below(kTextPlacesOfRow));
  options.min_new_tokens = random.one_of(2) ? static_cast<int64_t>(random.below(9)) : 0;
}
void set_forced(RandomRows& random, GenerationOptions& options) {
  options.forced_bos_token_id = static_cast<int32_t>(random.below(kWords));
  options.forced_eos_token_id = random.tokens(1 + random.below(3), kWords);
  options.max_new_tokens = static_cast<int64_t>(1 + random.below(8));
}
void set_suppressed(RandomRows& random, GenerationOptions& options) {
  options.suppress_tokens = random.tokens(random.below(4), kWords);
  options.begin_suppress_tokens = random.tokens(random.below(4), kWords);
  if (random.one_of(3)) options.allowed_token_ids = random.tokens(1 + random.below(9), kWords);
}

struct Processor {
  const char* name;
  Set set;
  Reference reference;
};
constexpr Processor kProcessorsOfText[] = {
    {"sequence_bias", set_biases, bias_phrases},
    {"bad_words_ids", set_bad_words, ban_phrases},
    {"encoder_repetition_penalty", set_source_penalty, penalise_source},
    {"repetition_penalty", set_penalty, penalise_text},
    {"no_repeat_ngram_size", set_ngrams, ban_ngrams_of_text},
    {"encoder_no_repeat_ngram_size", set_source_ngrams, ban_ngrams_of_source},
    {"remove_invalid_values", set_invalid, replace_invalid},
    {"exponential_decay", set_growth, grow_ends},
    {"min_length", set_fewest, hold_ends},
    {"forced", set_forced, force_tokens},
    {"suppressed", set_suppressed, suppress_words}};

/// What a float is, and that all NaN are the same.
uint32_t bits(float x) { return std::isnan(x) ? 0x7FC00000 : std::bit_cast<uint32_t>(x == 0 ? 0.0F : x); }

void expect_same(std::span<const float> found, std::span<const float> expected, const Row& row,
                 const char* what) {
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(bits(found[i]), bits(expected[i]))
        << what << ", token " << i << ": " << found[i] << " for " << expected[i] << ", text "
        << ::testing::PrintToString(row.tokens) << ", source " << ::testing::PrintToString(row.source)
        << ", prompt " << row.prompt_length << ", padding " << row.padding;
}

std::vector<float> of_host(const GenerationOptions& options, const Row& row) {
  Scores scores(row.scores.begin(), row.scores.end());
  process_scores(options, row.history(), scores);
  return {scores.begin(), scores.end()};
}

class GuidedScores : public ::testing::Test {
 protected:
  virtual ScoresOfAGraph& graph() {
    static ScoresOfAGraph made(false);
    return made;
  }
  /// Returns how many rows were compared.
  size_t compare(std::span<const Row> rows, const GenerationOptions& options, Reference reference) {
    EXPECT_EQ(
        guided_choice_refuses({kTextPlacesOfRow, kSourcePlaces}, options, {kTextPlacesOfRow, kSourcePlaces}),
        "");
    const std::vector<float> found = graph().of(rows, options);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = std::span(found).subspan(i * kWords, kWords);
      expect_same(row, of_host(options, rows[i]), rows[i], "the host");
      if (!reference) continue;
      std::vector<float> expected = rows[i].scores;
      reference(options, rows[i], expected);
      expect_same(row, expected, rows[i], "the reference");
    }
    return rows.size();
  }

  void compare_together() {
    RandomRows random(8);
    for (size_t seen = 0; seen < kRandomCases && !HasFailure();) {
      GenerationOptions options;
      options.max_new_tokens = 1000;
      for (const Processor& processor : kProcessorsOfText)
        if (random.one_of(2)) processor.set(random, options);
      seen += compare(random.rows(random.one_of(2)), options, nullptr);
    }
  }
};

TEST_F(GuidedScores, EachProcessorIsTheHostsAndAPlainReferences) {
  for (const Processor& processor : kProcessorsOfText) {
    RandomRows random(7);
    for (size_t seen = 0; seen < kRandomCases && !HasFailure();) {
      GenerationOptions options;
      options.max_new_tokens = 1000;
      processor.set(random, options);
      seen += compare(random.rows(options.remove_invalid_values), options, processor.reference);
    }
    ASSERT_FALSE(HasFailure()) << processor.name;
  }
}

TEST_F(GuidedScores, AnyProcessorsTogetherAreTheHosts) { compare_together(); }

class GuidedScoresOfAGpu : public GuidedScores {
 protected:
  ScoresOfAGraph& graph() override {
    static ScoresOfAGraph made(true);
    return made;
  }
};

TEST_F(GuidedScoresOfAGpu, AnyProcessorsTogetherAreTheHosts) { compare_together(); }

TEST_F(GuidedScores, NothingIsChangedByDefault) {
  RandomRows random(9);
  compare(random.rows(true), GenerationOptions(), [](const auto&, const Row&, auto&) {});
}

TEST_F(GuidedScores, ManyPhrasesFit) {
  RandomRows random(10);
  GenerationOptions options;
  for (int32_t i = 0; i < kBiasedPhrases; ++i)
    options.sequence_bias.push_back({{static_cast<int32_t>(random.below(3)), i % 16}, random.number(-3, 3)});
  for (int64_t i = 0; i < kBannedPhrases; ++i)
    options.bad_words_ids.push_back(random.tokens(2 + random.below(7), 4));
  compare(random.rows(false), options, nullptr);
}

TEST_F(GuidedScores, WhatExceedsTheBoundsIsRefused) {
  const auto refusal = [&](auto set, LongestText longest = {}) {
    GenerationOptions options;
    set(options);
    return guided_choice_refuses({kTextPlacesOfRow, kSourcePlaces}, options, longest);
  };
  EXPECT_EQ(refusal([](auto& o) { o.no_repeat_ngram_size = 17; }), "no_repeat_ngram_size above 16");
  EXPECT_EQ(refusal([](auto& o) { o.encoder_no_repeat_ngram_size = 17; }),
            "encoder_no_repeat_ngram_size above 16");
  EXPECT_EQ(refusal([](auto& o) { o.sequence_bias = {{Ids(9, 1), 1}}; }),
            "sequence_bias of more than 8 tokens");
  EXPECT_EQ(refusal([](auto& o) { o.sequence_bias.resize(5, {{1, 2}, 1}); }),
            "more than 4 phrases of sequence_bias end in one token");
  EXPECT_EQ(refusal([](auto& o) {
              for (int32_t i = 0; i < 65; ++i) o.sequence_bias.push_back({{1, i}, 1});
            }),
            "more than 64 phrases in sequence_bias");
  EXPECT_EQ(refusal([](auto& o) { o.bad_words_ids.resize(257, {1, 2}); }),
            "more than 256 phrases in bad_words_ids");
  EXPECT_EQ(refusal([](auto& o) { o.bad_words_ids = {Ids(9, 1)}; }), "bad_words_ids of more than 8 tokens");
  EXPECT_EQ(refusal([](auto& o) { o.sliding_window = true; }), "sliding_window");
  EXPECT_EQ(refusal([](auto&) {}, {.tokens = kTextPlacesOfRow + 1}),
            "a prompt with its padding is longer than the plan's rows");
  EXPECT_EQ(refusal([](auto& o) { o.bad_words_ids.resize(300, {1}); }), "");
}

}  // namespace
}  // namespace smelt
