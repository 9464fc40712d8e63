#include "runtime/engine/generation/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "tests/runtime/temporary_directory.h"
#include "tests/support/random_sample.h"

namespace smelt {
namespace {

SamplingOptions sampling() {
  SamplingOptions options;
  options.do_sample = true;
  options.top_k = 0;
  return options;
}

std::vector<double> logits_of(const std::vector<double>& probabilities) {
  std::vector<double> logits;
  for (const double p : probabilities) logits.push_back(std::log(p));
  return logits;
}

std::vector<int32_t> ids(const std::vector<Candidate>& list) {
  std::vector<int32_t> result;
  for (const Candidate& c : list) result.push_back(c.id);
  return result;
}

TEST(Sampling, GreedyTakesTheFirstOfTheLargest) {
  const std::vector<double> logits = {1, 7, -2, 7};
  for (const bool by_temperature : {false, true}) {
    SamplingOptions options;
    options.do_sample = by_temperature;
    options.temperature = by_temperature ? 0 : 1;
    EXPECT_EQ(ids(candidates(logits, options)), std::vector<int32_t>{1});
  }
}

// Pearson's test: 5 kept tokens, 4 degrees of freedom; 18.47 is exceeded once in a thousand seeds.
TEST(Sampling, DrawsFollowTheDistribution) {
  const std::vector<double> p = {0.05, 0.4, 0.1, 0.25, 0.2};
  const auto list = candidates(logits_of(p), sampling());
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform;
  constexpr int kDraws = 100'000;
  std::map<int32_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[draw(list, uniform(random))];
  double chi_square = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * kDraws, difference = counts[static_cast<int32_t>(i)] - expected;
    chi_square += difference * difference / expected;
  }
  EXPECT_LT(chi_square, 18.47);
  EXPECT_GT(chi_square, 0.09);  // no less random than one seed in a thousand on the other side
}

TEST(Sampling, TemperatureSharpensAndFlattens) {
  SamplingOptions options = sampling();
  const auto logits = logits_of({0.2, 0.8});
  options.temperature = 0.5;
  EXPECT_NEAR(candidates(logits, options)[0].probability, 0.64 / 0.68, 1e-6);
  options.temperature = 2;
  EXPECT_NEAR(candidates(logits, options)[0].probability, 2.0 / 3, 1e-6);
}

TEST(Sampling, TopKKeepsTheBestAndRenormalizes) {
  SamplingOptions options = sampling();
  options.top_k = 2;
  const auto list = candidates(logits_of({0.1, 0.4, 0.3, 0.2}), options);
  EXPECT_EQ(ids(list), (std::vector<int32_t>{1, 2}));
  EXPECT_NEAR(list[0].probability, 4.0 / 7, 1e-6);
}

TEST(Sampling, TopKKeepsAllThatScoreAsTheLast) {
  SamplingOptions options = sampling();
  options.top_k = 2;
  EXPECT_EQ(ids(candidates(std::vector<double>{1, 3, 1, 2, 2}, options)), (std::vector<int32_t>{1, 3, 4}));
}

TEST(Sampling, AsManyAsAreAskedForStay) {
  SamplingOptions options = sampling();
  options.top_k = 1, options.top_p = 0.1, options.min_p = 0.9;
  EXPECT_EQ(ids(candidates(logits_of({0.1, 0.4, 0.3, 0.2}), options, 3)), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(candidates(logits_of({0.5, 0.5}), options, 3).size(), 2u);
}

TEST(Sampling, TopPKeepsTheShortestHeadThatReachesIt) {
  SamplingOptions options = sampling();
  const auto logits = logits_of({0.1, 0.4, 0.3, 0.2});
  const auto kept = [&](double top_p) {
    options.top_p = top_p;
    return ids(candidates(logits, options));
  };
  EXPECT_EQ(kept(0.01), (std::vector<int32_t>{1}));
  EXPECT_EQ(kept(0.5), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(kept(0.75), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(kept(1), (std::vector<int32_t>{1, 2, 3, 0}));
}

TEST(Sampling, MinPIsRelativeToTheBest) {
  SamplingOptions options = sampling();
  options.min_p = 0.6;  // of 0.4: 0.24
  EXPECT_EQ(ids(candidates(logits_of({0.1, 0.4, 0.3, 0.2}), options)), (std::vector<int32_t>{1, 2}));
}

TEST(Sampling, ProbabilitiesAddToOneOnRandomLogits) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, 4);
  for (const size_t size : {1, 3, 31, 33, 197, 777, 50257}) {
    std::vector<double> logits(size);
    for (double& x : logits) x = normal(random);
    SamplingOptions options = sampling();
    options.top_k = 50, options.top_p = 0.95, options.min_p = 0.001;
    const auto list = candidates(logits, options);
    double sum = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      sum += list[i].probability;
      EXPECT_LE(list[i].probability, list[i > 0 ? i - 1 : 0].probability);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_EQ(draw(list, 0), list.front().id);
    EXPECT_EQ(draw(list, std::nextafter(1.0, 0.0)), list.back().id);
  }
}

/// What a graph's `sample` draws: of the same scores with the same settings, the same token.
TEST(Sampling, TokensAreThoseOfTheOperation) {
  for (const int64_t count : {1, 3, 33, 777}) {
    const test::RandomSample c(300, count, static_cast<uint32_t>(count));
    std::vector<int32_t> tokens(300);
    std::vector<float> logs(tokens.size());
    sample(c.sizes, c.scores.data(), c.numbers.data(), c.integers.data(), tokens.data(), logs.data());
    for (size_t row = 0; row < tokens.size(); ++row) {
      if (tokens[row] < 0) continue;
      const float* const n = &c.numbers[3 * row];
      const int32_t* const i = &c.integers[4 * row];
      const auto first = c.scores.begin() + static_cast<ptrdiff_t>(row) * count;
      SamplingOptions options = sampling();
      options.temperature = n[0], options.top_p = n[1], options.min_p = n[2], options.top_k = i[0];
      const auto list = candidates(std::vector<double>(first, first + count), options);
      const double uniform =
          uniform_number(static_cast<uint32_t>(i[1]), static_cast<size_t>(i[2]), static_cast<size_t>(i[3]));
      EXPECT_EQ(draw(list, uniform), tokens[row]) << "row " << row << " of " << count;
    }
  }
}

TEST(Sampling, InfiniteLogitsAreCertainOrImpossible) {
  const double infinity = INFINITY;
  const auto sure = candidates(std::vector<double>{0, infinity, 1}, sampling());
  EXPECT_EQ(sure[0].id, 1);
  EXPECT_DOUBLE_EQ(sure[0].probability, 1);
  EXPECT_EQ(ids(candidates(std::vector<double>{-infinity, 0, -infinity}, sampling())),
            std::vector<int32_t>{1});
}

TEST(Sampling, FaultsAreNamed) {
  const std::vector<double> bad = {1, NAN}, none = {-INFINITY, -INFINITY};
  EXPECT_HAS(message_of([&] { candidates(bad, {}); }), "token 1 is NaN");
  EXPECT_HAS(message_of([&] { candidates(none, {}); }), "-infinity");
  EXPECT_HAS(message_of([&] { candidates(none, sampling()); }), "-infinity");
  const auto fault = [](auto set) {
    SamplingOptions options;
    set(options);
    return message_of([&] { options.validate(); });
  };
  EXPECT_HAS(fault([](auto& o) { o.temperature = -1; }), "temperature -1");
  EXPECT_HAS(fault([](auto& o) { o.temperature = NAN; }), "temperature nan");
  EXPECT_HAS(fault([](auto& o) { o.top_k = -1; }), "top_k -1");
  EXPECT_HAS(fault([](auto& o) { o.top_p = 0; }), "top_p 0");
  EXPECT_HAS(fault([](auto& o) { o.min_p = 1.5; }), "min_p 1.5");
}

}  // namespace
}  // namespace smelt
