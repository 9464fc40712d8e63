#include "runtime/generation/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/error.h"
#include "runtime/generation/logits_processors.h"
#include "runtime/philox.h"

namespace smelt {
namespace {

constexpr uint32_t kSampleId = 0x53414D50;  // its own stream of random numbers

/// Those that may be chosen, with the score in `probability`.
std::vector<Candidate> allowed(std::span<const double> scores) {
  std::vector<Candidate> all;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i]))
      fail_with(Status::numeric, "the logit of token {} is NaN: no token can be chosen", i);
    if (scores[i] != kBanned) all.push_back({static_cast<int32_t>(i), scores[i]});
  }
  if (all.empty()) fail_with(Status::numeric, "every logit is -infinity: no token can be chosen");
  return all;
}

bool better(const Candidate& a, const Candidate& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
}

/// The best `count`, and those that score as the last of them; sorted.
void keep_best(std::vector<Candidate>& list, size_t count) {
  if (count > 0 && count < list.size()) {
    const auto last = list.begin() + static_cast<ptrdiff_t>(count) - 1;
    std::ranges::nth_element(list, last, better);
    const double least = last->probability;
    std::erase_if(list, [&](const Candidate& c) { return c.probability < least; });
  }
  std::ranges::sort(list, better);
}

void normalize(std::vector<Candidate>& list) {
  double sum = 0;
  for (const Candidate& c : list) sum += c.probability;
  for (Candidate& c : list) c.probability /= sum;
}

void softmax(std::vector<Candidate>& list, double temperature) {
  const double top = list.front().probability;
  for (Candidate& c : list)
    c.probability = c.probability == top ? 1 : std::exp((c.probability - top) / temperature);
  normalize(list);
}

/// The shortest head of the list that holds at least `top_p`.
void keep_nucleus(std::vector<Candidate>& list, double top_p, size_t fewest) {
  if (top_p >= 1) return;
  size_t kept = 0;
  for (double sum = 0; kept < list.size() && sum < top_p; ++kept) sum += list[kept].probability;
  list.resize(std::min(list.size(), std::max(kept, fewest)));
  normalize(list);
}

void drop_improbable(std::vector<Candidate>& list, double min_p, size_t fewest) {
  if (min_p <= 0) return;
  const double least = min_p * list.front().probability;
  while (list.size() > fewest && list.back().probability < least) list.pop_back();
  normalize(list);
}

}  // namespace

std::vector<Candidate> candidates(std::span<const double> scores, const SamplingOptions& options,
                                  size_t fewest) {
  if (scores.empty()) fail("no logits to choose a token from");
  std::vector<Candidate> list = allowed(scores);
  if (options.greedy()) return {{std::ranges::min_element(list, better)->id, 1.0}};
  keep_best(list, options.top_k > 0 ? std::max(static_cast<size_t>(options.top_k), fewest) : 0);
  softmax(list, options.temperature);
  keep_nucleus(list, options.top_p, fewest);
  drop_improbable(list, options.min_p, fewest);
  return list;
}

float log_probability(std::span<const float> logits, int32_t token) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const double x : logits) sum += std::exp(x - top);
  return static_cast<float>(logits[static_cast<size_t>(token)] - top - std::log(sum));
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
  const auto w = Philox{.seed = seed, .step = static_cast<uint32_t>(position)}.words(
      kSampleId, static_cast<uint32_t>(index), 0);
  return static_cast<double>((uint64_t{w[1]} << 32 | w[0]) >> 11) * 0x1p-53;
}

int32_t draw(std::span<const Candidate> candidates, double uniform) {
  double sum = 0;
  for (const Candidate& c : candidates) {
    sum += c.probability;
    if (uniform < sum) return c.id;
  }
  return candidates.back().id;  // rounding left the sum just below `uniform`
}

}  // namespace smelt
