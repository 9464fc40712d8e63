// Beam search over models small enough to try every sequence.
#include "runtime/engine/generation/beam_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using Tokens = std::vector<int32_t>;
constexpr size_t kVocabulary = 5;
constexpr int32_t kEnd = 0;

/// Logits of the next token, any function of the tokens so far.
std::vector<float> model(const Tokens& tokens, uint32_t seed) {
  std::seed_seq sequence(tokens.begin(), tokens.end());
  std::vector<uint32_t> words(2);
  sequence.generate(words.begin(), words.end());
  std::mt19937 random(words[0] ^ (seed * 977));
  std::normal_distribution<float> normal(0, 1.5f);
  std::vector<float> logits(kVocabulary);
  for (float& x : logits) x = normal(random);
  return logits;
}

std::vector<Hypothesis> searched(const GenerationOptions& options, const Tokens& prompt, uint32_t seed,
                                 size_t* steps = nullptr) {
  BeamSearch beams(options, prompt, 0, prompt, seed);
  for (size_t step = 0; !beams.done(); ++step) {
    std::vector<float> logits;
    for (const Tokens& row : beams.rows()) {
      EXPECT_EQ(row.size(), prompt.size() + step);
      const std::vector<float> next = model(row, seed);
      logits.insert(logits.end(), next.begin(), next.end());
    }
    beams.advance(logits);
    if (steps) *steps = step + 1;
  }
  return beams.best(static_cast<size_t>(options.num_return_sequences));
}

double log_probability(const std::vector<float>& logits, int32_t token) {
  double sum = 0;
  for (const float x : logits) sum += std::exp(double{x});
  return logits[static_cast<size_t>(token)] - std::log(sum);
}

/// Every sequence that ends, with its score.
std::map<Tokens, double> all_sequences(const GenerationOptions& options, const Tokens& prompt,
                                       uint32_t seed) {
  std::map<Tokens, double> all;
  const std::function<void(Tokens, double)> extend = [&](const Tokens& tokens, double sum) {
    Tokens whole = prompt;
    whole.insert(whole.end(), tokens.begin(), tokens.end());
    const std::vector<float> logits = model(whole, seed);
    for (int32_t token = 0; token < static_cast<int32_t>(kVocabulary); ++token) {
      Tokens next = tokens;
      next.push_back(token);
      const double total = sum + log_probability(logits, token);
      const auto n = static_cast<double>(next.size());
      if (token == kEnd || static_cast<int64_t>(next.size()) == options.max_new_tokens)
        all[next] = total / std::pow(options.length_score == LengthScore::power ? n : (5 + n) / 6,
                                     options.length_penalty);
      else
        extend(next, total);
    }
  };
  extend({}, 0);
  return all;
}

GenerationOptions wide() {
  GenerationOptions options;
  options.num_beams = 64, options.num_return_sequences = 3, options.max_new_tokens = 3;
  options.eos_token_id = {kEnd};
  options.early_stopping = EarlyStopping::never;
  return options;
}

TEST(BeamSearch, WithBeamsForAllFindsTheBest) {
  for (uint32_t seed = 1; seed <= 20; ++seed)
    for (const double penalty : {0.0, 1.0, 2.0})
      for (const LengthScore score : {LengthScore::power, LengthScore::gnmt}) {
        GenerationOptions options = wide();
        options.length_penalty = penalty, options.length_score = score;
        const auto all = all_sequences(options, {1, 2}, seed);
        std::vector<double> scores;
        for (const auto& [tokens, value] : all) scores.push_back(value);
        std::ranges::sort(scores, std::greater());
        const auto found = searched(options, {1, 2}, seed);
        ASSERT_EQ(found.size(), 3u);
        for (size_t i = 0; i < 3; ++i) {
          EXPECT_NEAR(found[i].score, all.at(found[i].tokens), 1e-5);
          EXPECT_NEAR(found[i].score, scores[i], 1e-5) << "seed " << seed << ", rank " << i;
        }
      }
}

TEST(BeamSearch, ScoresAreThoseOfTheirSequences) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    GenerationOptions options = wide();
    options.num_beams = 3, options.max_new_tokens = 6, options.length_penalty = 0.8;
    options.early_stopping = seed % 2 == 0 ? EarlyStopping::yes : EarlyStopping::no;
    const auto all = all_sequences(options, {3}, seed);
    const auto found = searched(options, {3}, seed);
    ASSERT_EQ(found.size(), 3u);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].score, all.at(found[i].tokens), 1e-5);
      EXPECT_LE(found[i].score, found[i > 0 ? i - 1 : 0].score);
    }
  }
}

TEST(BeamSearch, StopsEarlyWhereAskedTo) {
  size_t early = 0, late = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    GenerationOptions options = wide();
    options.num_beams = 2, options.num_return_sequences = 1, options.max_new_tokens = 12;
    options.length_penalty = 1.5;
    size_t steps = 0;
    options.early_stopping = EarlyStopping::yes;
    searched(options, {2}, seed, &steps);
    early += steps;
    options.early_stopping = EarlyStopping::never;
    searched(options, {2}, seed, &steps);
    late += steps;
  }
  EXPECT_LT(early, late);
}

TEST(BeamSearch, NoNewTokensIsNoSearch) {
  GenerationOptions options = wide();
  options.max_new_tokens = 0;
  EXPECT_TRUE(BeamSearch(options, {1}, 0, {1}, 0).done());
}

TEST(BeamSearch, AForcedFirstTokenLeavesOneBeam) {
  GenerationOptions options = wide();
  options.num_beams = 4, options.forced_bos_token_id = 3;
  for (const Hypothesis& found : searched(options, {2}, 5)) EXPECT_EQ(found.tokens[0], 3);
}

// Drawn without replacement, the first beam of one step is a draw by the distribution.
TEST(BeamSearch, DrawsFollowTheDistribution) {
  GenerationOptions options = wide();
  options.num_beams = 2, options.num_return_sequences = 2, options.max_new_tokens = 1;
  options.do_sample = true, options.top_k = 0, options.early_stopping = EarlyStopping::yes;
  const std::vector<double> p = {0.05, 0.4, 0.1, 0.25, 0.2};
  std::vector<float> logits;
  for (const double x : p) logits.push_back(static_cast<float>(std::log(x)));
  constexpr int kDraws = 4000;
  std::vector<double> counts(kVocabulary);
  for (int i = 0; i < kDraws; ++i) {
    BeamSearch beams(options, {1}, 0, {1}, static_cast<size_t>(i));
    beams.advance(logits);
    for (const Hypothesis& each : beams.best(2)) ++counts[static_cast<size_t>(each.tokens[0])];
  }
  // Two of five without replacement: p_i (1 + the sum over others j of p_j / (1 - p_j)).
  double chi_square = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    double expected = p[i];
    for (size_t j = 0; j < p.size(); ++j)
      if (j != i) expected += p[j] * p[i] / (1 - p[j]);
    chi_square += std::pow(counts[i] - expected * kDraws, 2) / (expected * kDraws);
  }
  EXPECT_LT(chi_square, 18.47);  // 4 degrees of freedom, one in a thousand; less where counts are of pairs
}

TEST(BeamSearch, FaultsAreNamed) {
  const GenerationOptions options = wide();
  const auto fault = [&](std::vector<float> logits) {
    BeamSearch beams(options, {1}, 0, {1}, 0);
    return message_of([&] { beams.advance(logits); });
  };
  EXPECT_HAS(fault({1, NAN, 2}), "token 1 is NaN");
  EXPECT_HAS(fault({-INFINITY, -INFINITY}), "no token can be chosen");
}

}  // namespace
}  // namespace smelt
