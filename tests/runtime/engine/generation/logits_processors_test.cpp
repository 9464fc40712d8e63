#include "runtime/engine/generation/logits_processors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace smelt {
namespace {

using Ids = std::vector<int32_t>;

/// Scores of a history after the processors that `set` asks for.
template <typename Set>
std::vector<double> processed(std::vector<double> scores, const Ids& tokens, size_t prompt, Set set,
                              const Ids& source = {}, size_t padding = 0) {
  GenerationOptions options;
  options.eos_token_id = {0};
  set(options);
  process_scores(options, {tokens, prompt, padding, source}, scores);
  return scores;
}

std::vector<int32_t> banned(const std::vector<double>& scores) {
  Ids result;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] == kBanned) result.push_back(static_cast<int32_t>(i));
  return result;
}

const std::vector<double> kScores = {1, 4, 3, -1, 2, -2};

TEST(LogitsProcessors, NothingIsChangedByDefault) {
  EXPECT_EQ(processed(kScores, {1, 2, 1, 2}, 2, [](auto&) {}, {3}), kScores);
}

TEST(LogitsProcessors, RepetitionDividesPositiveAndMultipliesNegativeScoresOnce) {
  const auto penalty = [](auto& o) { o.repetition_penalty = 2; };
  EXPECT_EQ(processed(kScores, {1, 1, 3}, 1, penalty), (std::vector<double>{1, 2, 3, -2, 2, -2}));
  EXPECT_EQ(processed(kScores, {1, 1, 3}, 3, penalty, {}, 2), (std::vector<double>{1, 4, 3, -2, 2, -2}));
}

/// As transformers' tensors and graphs that choose tokens: in f32, operation by operation.
TEST(LogitsProcessors, BiasesAndPenaltiesRoundAsFloatsDo) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const auto score = static_cast<float>(random()) / 1e9F - 2;
    const auto found = processed({score, score}, {1}, 1, [](auto& o) {
      o.repetition_penalty = 1.3, o.sequence_bias = {{{0}, 0.7}, {{1}, 0.7}};
    });
    const float bent = score + 0.7F;
    EXPECT_EQ(found[0], bent);
    EXPECT_EQ(found[1], bent < 0 ? bent * 1.3F : bent / 1.3F);
  }
}

/// Tokens 2 and 5 of the prompt alone lose nothing.
TEST(LogitsProcessors, NewTokensLoseThePresenceOnceAndTheFrequencyEachTime) {
  const Ids tokens = {2, 5, 1, 1, 3, 1};
  EXPECT_EQ(processed(kScores, tokens, 2, [](auto& o) { o.presence_penalty = 0.5; }),
            (std::vector<double>{1, 3.5, 3, -1.5, 2, -2}));
  EXPECT_EQ(processed(kScores, tokens, 2, [](auto& o) { o.frequency_penalty = 0.5; }),
            (std::vector<double>{1, 2.5, 3, -1.5, 2, -2}));
  EXPECT_EQ(
      processed(kScores, tokens, 2, [](auto& o) { o.presence_penalty = -2, o.frequency_penalty = 0.25; }),
      (std::vector<double>{1, 5.25, 3, 0.75, 2, -2}));
  EXPECT_EQ(processed(kScores, {2, 5}, 2, [](auto& o) { o.presence_penalty = 2; }), kScores);
}

TEST(LogitsProcessors, TheSourceIsFavoured) {
  EXPECT_EQ(processed(kScores, {1}, 1, [](auto& o) { o.encoder_repetition_penalty = 2; }, {2, 5, 2}),
            (std::vector<double>{1, 4, 6, -1, 2, -1}));
}

TEST(LogitsProcessors, ASourceMayHaveTokensOfALargerVocabulary) {
  const auto both = [](auto& o) { o.encoder_repetition_penalty = 2, o.encoder_no_repeat_ngram_size = 2; };
  EXPECT_EQ(processed(kScores, {1, 2, 4}, 1, both, {4, 2000000000, 2000000000}),
            (std::vector<double>{1, 4, 3, -1, 4, -2}));
}

TEST(LogitsProcessors, NgramsAreNotRepeated) {
  const auto size = [](int64_t n) { return [n](auto& o) { o.no_repeat_ngram_size = n; }; };
  EXPECT_EQ(banned(processed(kScores, {1, 2, 0, 1, 3, 1}, 1, size(2))), (Ids{2, 3}));
  EXPECT_EQ(banned(processed(kScores, {1, 2, 0, 1, 2}, 1, size(3))), (Ids{0}));
  EXPECT_EQ(banned(processed(kScores, {4, 5}, 1, size(1))), (Ids{4, 5}));
  EXPECT_EQ(banned(processed(kScores, {4, 5}, 1, size(3))), Ids{});
  const auto of_source = [](auto& o) { o.encoder_no_repeat_ngram_size = 2; };
  EXPECT_EQ(banned(processed(kScores, {1, 2, 4}, 1, of_source, {4, 3, 4, 5})), (Ids{3, 5}));
}

TEST(LogitsProcessors, WordsAreBannedWhereTheyWouldBeComplete) {
  const auto words = [](auto& o) { o.bad_words_ids = {{3}, {1, 2}, {2, 4}, {0}, {9, 9, 9, 5}}; };
  EXPECT_EQ(banned(processed(kScores, {5, 1}, 1, words)), (Ids{2, 3}));
  EXPECT_EQ(banned(processed(kScores, {5, 2}, 1, words)), (Ids{3, 4}));
}

TEST(LogitsProcessors, BiasesAddUp) {
  const auto biases = [](auto& o) { o.sequence_bias = {{{3}, 1.5}, {{1, 3}, 2}, {{2, 4}, 9}}; };
  EXPECT_EQ(processed(kScores, {5, 1}, 1, biases), (std::vector<double>{1, 4, 3, 2.5, 2, -2}));
}

/// As transformers has it.
TEST(LogitsProcessors, PhrasesCountInTextsOfTheirLength) {
  const auto phrase = [](auto& o) { o.sequence_bias = {{{5, 1, 3}, 2}}, o.bad_words_ids = {{5, 1, 4}}; };
  EXPECT_EQ(processed(kScores, {5, 1}, 1, phrase), kScores);
  EXPECT_EQ(processed(kScores, {0, 5, 1}, 1, phrase), (std::vector<double>{1, 4, 3, 1, kBanned, -2}));
}

TEST(LogitsProcessors, EndsWaitForTheShortestLength) {
  const auto fewest = [](auto& o) { o.min_new_tokens = 2; };
  EXPECT_EQ(banned(processed(kScores, {5, 5, 1}, 2, fewest)), Ids{0});
  EXPECT_EQ(banned(processed(kScores, {5, 5, 1, 1}, 2, fewest)), Ids{});
  const auto shortest = [](auto& o) { o.min_length = 4; };
  EXPECT_EQ(banned(processed(kScores, {5, 5, 1}, 2, shortest)), Ids{0});
  EXPECT_EQ(banned(processed(kScores, {5, 5, 1, 1}, 2, shortest)), Ids{});
}

TEST(LogitsProcessors, FirstAndLastTokensAreForced) {
  const auto both = [](auto& o) {
    o.forced_bos_token_id = 4, o.forced_eos_token_id = {0, 2}, o.max_new_tokens = 3;
  };
  EXPECT_EQ(banned(processed(kScores, {5}, 1, both)), (Ids{0, 1, 2, 3, 5}));
  EXPECT_EQ(banned(processed(kScores, {5, 1}, 1, both)), Ids{});
  EXPECT_EQ(banned(processed(kScores, {5, 1, 1}, 1, both)), (Ids{1, 3, 4, 5}));
}

TEST(LogitsProcessors, InvalidScoresBecomeNumbers) {
  const auto removed =
      processed({NAN, INFINITY, -INFINITY, 1}, {3}, 1, [](auto& o) { o.remove_invalid_values = true; });
  const double most = std::numeric_limits<float>::max();
  EXPECT_EQ(removed, (std::vector<double>{0, most, -most, 1}));
}

TEST(LogitsProcessors, EndsBecomeLikelier) {
  const auto decay = [](auto& o) { o.exponential_decay_length_penalty = {1, 2.0}, o.eos_token_id = {1, 3}; };
  EXPECT_EQ(processed(kScores, {5, 5, 2}, 2, decay), kScores);
  EXPECT_EQ(processed(kScores, {5, 5, 2, 2, 2}, 2, decay), (std::vector<double>{1, 16, 3, 2, 2, -2}));
}

TEST(LogitsProcessors, TokensAreSuppressedAlwaysOrAtTheBeginning) {
  const auto tokens = [](auto& o) { o.suppress_tokens = {1}, o.begin_suppress_tokens = {2}; };
  EXPECT_EQ(banned(processed(kScores, {5, 5}, 2, tokens)), (Ids{1, 2}));
  EXPECT_EQ(banned(processed(kScores, {5, 5, 4}, 2, tokens)), Ids{1});
  const auto forced = [](auto& o) { o.begin_suppress_tokens = {2}, o.forced_bos_token_id = 4; };
  EXPECT_EQ(banned(processed(kScores, {5, 4}, 1, forced)), Ids{2});
}

TEST(LogitsProcessors, OnlyAllowedTokensAreLeft) {
  const auto allowed = [](auto& o) { o.allowed_token_ids = {4, 1, 4}, o.remove_invalid_values = true; };
  EXPECT_EQ(banned(processed(kScores, {5, 5}, 2, allowed)), (Ids{0, 2, 3, 5}));
  EXPECT_EQ(processed(kScores, {5, 5}, 2, allowed)[4], kScores[4]);
  const auto fewer = [](auto& o) { o.allowed_token_ids = {4, 1, 2}, o.suppress_tokens = {1}; };
  EXPECT_EQ(banned(processed(kScores, {5, 5}, 2, fewer)), (Ids{0, 1, 3, 5}));
}

}  // namespace
}  // namespace smelt
