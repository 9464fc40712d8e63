// Beam searches by the candidates of each row: they find what those by all logits find.
#include "runtime/engine/generation/row_candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "runtime/engine/generation/beam_search.h"
#include "runtime/plan/decode_contract.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int32_t kWords = 90;

std::vector<float> candidate_logits(const std::vector<int32_t>& tokens) {
  std::seed_seq sequence(tokens.begin(), tokens.end());
  std::mt19937 random(sequence);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(kWords);
  for (float& x : logits) x = normal(random);
  return logits;
}

/// The candidates of a row, as a plan computes them.
struct OwnedCandidates {
  std::vector<int32_t> tokens;
  std::vector<float> log_probabilities;

  explicit OwnedCandidates(const std::vector<float>& logits) : tokens(logits.size()) {
    std::iota(tokens.begin(), tokens.end(), 0);
    std::ranges::stable_sort(tokens, std::ranges::greater(),
                             [&](int32_t token) { return logits[static_cast<size_t>(token)]; });
    tokens.resize(static_cast<size_t>(kBeamCandidates));
    double sum = 0;
    for (const float x : logits) sum += std::exp(double{x});
    for (const int32_t token : tokens)
      log_probabilities.push_back(static_cast<float>(logits[static_cast<size_t>(token)] - std::log(sum)));
  }
  RowCandidates view() const { return {tokens, log_probabilities, kWords}; }
};

void advance_by_logits(BeamSearch& search) {
  std::vector<float> all;
  for (const auto& row : search.rows()) {
    const std::vector<float> logits = candidate_logits(row);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  search.advance(all);
}

void advance_by_candidates(BeamSearch& search) {
  std::vector<OwnedCandidates> owned;
  for (const auto& row : search.rows()) owned.emplace_back(candidate_logits(row));
  std::vector<RowCandidates> views;
  for (const OwnedCandidates& each : owned) views.push_back(each.view());
  search.advance(views);
}

/// None of them is one that options_of() forces.
std::vector<int32_t> some_tokens(std::mt19937& random, size_t most) {
  std::vector<int32_t> tokens(random() % (most + 1));
  for (int32_t& token : tokens) token = static_cast<int32_t>(10 + random() % (kWords - 10));
  return tokens;
}

GenerationOptions options_of(std::mt19937& random) {
  GenerationOptions options;
  options.num_beams = 2 + static_cast<int64_t>(random() % 8);
  options.max_new_tokens = 1 + static_cast<int64_t>(random() % 8);
  options.eos_token_id = some_tokens(random, 1);
  options.min_new_tokens = static_cast<int64_t>(random() % 4);
  options.suppress_tokens = some_tokens(random, 4);
  options.begin_suppress_tokens = some_tokens(random, 3);
  for (const int32_t token : some_tokens(random, 3)) options.bad_words_ids.push_back({token});
  options.bad_words_ids.push_back({3, 5});
  if (random() % 2 == 0) options.sequence_bias = {{{7}, -1.5}};
  if (random() % 3 == 0) options.forced_eos_token_id = {2};
  if (random() % 3 == 0) options.forced_bos_token_id = 4;
  return options;
}

TEST(RowCandidates, FindWhatLogitsFind) {
  std::mt19937 random(3);
  size_t searches = 0;
  for (int round = 0; round < 300; ++round) {
    const GenerationOptions options = options_of(random);
    if (!candidates_suffice(options)) continue;
    BeamSearch logits(options, {1}, 0, {}, 0), candidates(options, {1}, 0, {}, 0);
    for (++searches; !logits.done();) {
      ASSERT_FALSE(candidates.done());
      advance_by_logits(logits), advance_by_candidates(candidates);
      ASSERT_EQ(candidates.rows(), logits.rows()) << round;
    }
    const auto expected = logits.best(10), found = candidates.best(10);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].tokens, expected[i].tokens);
      EXPECT_NEAR(found[i].score, expected[i].score, 1e-4);
    }
  }
  EXPECT_GT(searches, 200U);
}

TEST(RowCandidates, DoNotSufficeIfManyScoresMayChange) {
  GenerationOptions plain;
  plain.num_beams = 4, plain.eos_token_id = {1};
  EXPECT_TRUE(candidates_suffice(plain));
  const auto suffice = [&](const std::function<void(GenerationOptions&)>& change) {
    GenerationOptions options = plain;
    change(options);
    return candidates_suffice(options);
  };
  EXPECT_FALSE(suffice([](GenerationOptions& o) { o.num_beams = 17; }));
  EXPECT_FALSE(suffice([](GenerationOptions& o) { o.do_sample = true; }));
  EXPECT_FALSE(suffice([](GenerationOptions& o) { o.num_beam_groups = 2; }));
  EXPECT_FALSE(suffice([](GenerationOptions& o) { o.diverse_lambda = 0.5; }));
  EXPECT_FALSE(suffice([](GenerationOptions& o) { o.repetition_penalty = 1.1; }));
  EXPECT_FALSE(suffice([](GenerationOptions& o) { o.no_repeat_ngram_size = 3; }));
  EXPECT_FALSE(suffice([](GenerationOptions& o) { o.sequence_bias = {{{3}, 0.5}}; }));
  EXPECT_FALSE(suffice([](GenerationOptions& o) { o.suppress_tokens.assign(30, 2); }));
  EXPECT_FALSE(suffice([](GenerationOptions& o) { o.allowed_token_ids = {2}; }));
}

TEST(RowCandidates, ANaNIsAnError) {
  GenerationOptions options;
  options.num_beams = 2;
  BeamSearch search(options, {1}, 0, {}, 0);
  const std::vector<int32_t> tokens = {3, 2};
  const std::vector<float> scores(2, std::numeric_limits<float>::quiet_NaN());
  const RowCandidates row{tokens, scores, kWords};
  EXPECT_HAS(message_of([&] { search.advance(std::span(&row, 1)); }), "NaN");
}

}  // namespace
}  // namespace smelt
