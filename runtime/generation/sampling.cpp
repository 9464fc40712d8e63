#include "runtime/generation/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/error.h"

namespace smelt {
namespace {

constexpr double kBanned = -std::numeric_limits<double>::infinity();

/// Hugging Face's rule: a seen token's positive logit is divided by the penalty, a negative one multiplied.
void penalize_repetition(std::vector<double>& scores, std::span<const int32_t> history, double penalty) {
  if (penalty == 1) return;
  std::vector<bool> seen(scores.size());
  for (const int32_t id : history) {
    if (seen[static_cast<size_t>(id)]) continue;
    seen[static_cast<size_t>(id)] = true;
    double& score = scores[static_cast<size_t>(id)];
    score = score > 0 ? score / penalty : score * penalty;
  }
}

/// Bans every token that would repeat an n-gram of the history.
void ban_repeated_ngrams(std::vector<double>& scores, std::span<const int32_t> history, int64_t size) {
  const auto n = static_cast<size_t>(size);
  if (n == 0 || history.size() < n) return;
  const auto prefix = history.last(n - 1);
  for (size_t i = 0; i + n <= history.size(); ++i)
    if (std::ranges::equal(history.subspan(i, n - 1), prefix))
      scores[static_cast<size_t>(history[i + n - 1])] = kBanned;
}

std::vector<double> scores_of(std::span<const float> logits, std::span<const int32_t> history,
                              const SamplingOptions& options) {
  std::vector<double> scores(logits.begin(), logits.end());
  for (size_t i = 0; i < scores.size(); ++i)
    if (std::isnan(scores[i]))
      fail_with(Status::numeric, "the logit of token {} is NaN: no token can be chosen", i);
  penalize_repetition(scores, history, options.repetition_penalty);
  ban_repeated_ngrams(scores, history, options.no_repeat_ngram_size);
  return scores;
}

int32_t arg_max(const std::vector<double>& scores) {
  const auto best = std::ranges::max_element(scores);
  if (*best == kBanned) fail_with(Status::numeric, "every logit is -infinity: no token can be chosen");
  return static_cast<int32_t>(best - scores.begin());
}

/// The tokens that top-k leaves, best first, with score in `probability`.
std::vector<Candidate> best_scores(const std::vector<double>& scores, int64_t top_k) {
  std::vector<Candidate> all;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] != kBanned) all.push_back({static_cast<int32_t>(i), scores[i]});
  if (all.empty()) fail_with(Status::numeric, "every logit is -infinity: no token can be chosen");
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
  };
  const auto kept = top_k > 0 ? std::min<size_t>(all.size(), static_cast<size_t>(top_k)) : all.size();
  std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(kept), all.end(), better);
  all.resize(kept);
  return all;
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
void keep_nucleus(std::vector<Candidate>& list, double top_p) {
  if (top_p >= 1) return;
  size_t kept = 0;
  for (double sum = 0; kept < list.size() && sum < top_p; ++kept) sum += list[kept].probability;
  list.resize(std::max<size_t>(kept, 1));
  normalize(list);
}

void drop_improbable(std::vector<Candidate>& list, double min_p) {
  if (min_p <= 0) return;
  const double least = min_p * list.front().probability;
  while (list.size() > 1 && list.back().probability < least) list.pop_back();
  normalize(list);
}

}  // namespace

void SamplingOptions::validate() const {
  if (!(temperature >= 0) || !std::isfinite(temperature))
    fail("temperature {}: expected a number >= 0 (0 = greedy)", temperature);
  if (top_k < 0) fail("top_k {}: expected a number >= 0 (0 = all tokens)", top_k);
  if (!(top_p > 0 && top_p <= 1)) fail("top_p {}: expected a number in (0, 1]", top_p);
  if (!(min_p >= 0 && min_p <= 1)) fail("min_p {}: expected a number in [0, 1]", min_p);
  if (!(repetition_penalty > 0) || !std::isfinite(repetition_penalty))
    fail("repetition_penalty {}: expected a number > 0 (1 = none)", repetition_penalty);
  if (no_repeat_ngram_size < 0) fail("no_repeat_ngram_size {}: expected 0 or more", no_repeat_ngram_size);
}

std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int32_t> history,
                                  const SamplingOptions& options) {
  if (logits.empty()) fail("no logits to choose a token from");
  const std::vector<double> scores = scores_of(logits, history, options);
  if (options.greedy()) return {{arg_max(scores), 1.0}};
  std::vector<Candidate> list = best_scores(scores, options.top_k);
  softmax(list, options.temperature);
  keep_nucleus(list, options.top_p);
  drop_improbable(list, options.min_p);
  return list;
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
