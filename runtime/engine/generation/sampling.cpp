#include "runtime/engine/generation/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/engine/generation/logits_processors.h"
#include "runtime/sampling/log_sum_exp.h"
#include "runtime/sampling/score_head.h"

namespace smelt {
namespace {

/// Returns the scores in f32, as in a graph. Throws Error naming the fault of a score.
std::vector<float> checked(std::span<const double> scores) {
  if (scores.empty()) fail("no logits to choose a token from");
  std::vector<float> result(scores.begin(), scores.end());
  const LargestScore largest = largest_score(result);
  if (largest.nan)
    fail_with(Status::numeric, "the logit of token {} is NaN: no token can be chosen", *largest.nan);
  if (result[static_cast<size_t>(word_at(largest.place))] == static_cast<float>(kBanned))
    fail_with(Status::numeric, "every logit is -infinity: no token can be chosen");
  return result;
}

}  // namespace

DrawSettings settings_of(const SamplingOptions& options, size_t fewest) {
  const int64_t k = options.top_k > 0 ? std::max(options.top_k, static_cast<int64_t>(fewest)) : 0;
  return {.temperature = static_cast<float>(options.temperature),
          .top_p = static_cast<float>(options.top_p),
          .min_p = static_cast<float>(options.min_p),
          .top_k = static_cast<int32_t>(std::min<int64_t>(k, INT32_MAX))};
}

std::vector<Candidate> candidates(std::span<const double> scores, const SamplingOptions& options,
                                  size_t fewest) {
  const std::vector<float> rounded = checked(scores);
  const DrawSettings settings = settings_of(options, fewest);
  if (options.greedy() || settings.temperature == 0) return {{word_at(largest_score(rounded).place), 1.0}};
  ScoreHead head(rounded, settings.temperature);
  std::vector<Candidate> list(std::max(head.kept(settings).words, std::min(fewest, head.size())));
  uint64_t mass = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    list[i] = {word_at(head[i].place), 0, head[i].weight};
    mass += head[i].weight;
  }
  for (Candidate& c : list) c.probability = static_cast<double>(c.weight) / static_cast<double>(mass);
  return list;
}

float log_probability(std::span<const float> logits, int32_t token) {
  return static_cast<float>(logits[static_cast<size_t>(token)] - log_sum_exp(logits));
}

std::vector<int32_t> most_probable(std::span<const float> logits, size_t count) {
  std::vector<int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto logit = [&](int32_t token) {
    const float x = logits[static_cast<size_t>(token)];
    return std::isnan(x) ? -std::numeric_limits<float>::infinity() : x;
  };
  const auto end = tokens.begin() + static_cast<ptrdiff_t>(std::min(count, tokens.size()));
  std::ranges::partial_sort(
      tokens, end, [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  tokens.erase(end, tokens.end());
  return tokens;
}

double uniform_number(uint32_t seed, size_t position, size_t index) {
  const uint64_t bits = random_bits(seed, static_cast<uint32_t>(position), static_cast<uint32_t>(index));
  return static_cast<double>(bits) * 0x1p-53;
}

int32_t draw(std::span<const Candidate> candidates, double uniform) {
  uint64_t mass = 0;
  for (const Candidate& c : candidates) mass += c.weight;
  const uint64_t part = drawn_part(mass, static_cast<uint64_t>(uniform * 0x1p53));
  uint64_t sum = 0;
  for (const Candidate& c : candidates) {
    sum += c.weight;
    if (part < sum) return c.id;
  }
  return candidates.back().id;
}

}  // namespace smelt
