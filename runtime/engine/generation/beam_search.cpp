#include "runtime/engine/generation/beam_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/philox.h"
#include "runtime/engine/generation/best_scores.h"
#include "runtime/engine/generation/sampling.h"
#include "runtime/sampling/log_sum_exp.h"

namespace smelt {
namespace {

constexpr uint32_t kBeamId = 0x4245414D;  // its own stream of random numbers

/// -log(-log u) of a uniform u: the largest of scores plus such numbers is a draw by their softmax, the next
/// ones are draws without replacement (Kool et al., arXiv 1903.06059).
double gumbel(uint32_t seed, size_t step, size_t index, size_t place) {
  const auto w = Philox{.seed = seed, .step = static_cast<uint32_t>(step)}.words(
      kBeamId, static_cast<uint32_t>(index), static_cast<uint32_t>(8 * place));
  const double u = (static_cast<double>((uint64_t{w[1]} << 32 | w[0]) >> 11) + 0.5) * 0x1p-53;
  return -std::log(-std::log(u));
}

/// Returns memory for scores of all tokens, all of them kBanned. The caller must set them to kBanned again.
/// All searches of a thread use the same memory, because it is as large as the vocabulary.
std::span<double> scratch_scores(size_t vocabulary) {
  thread_local std::vector<double> scores;
  if (scores.size() < vocabulary) scores.resize(vocabulary, kBanned);
  return std::span(scores).first(vocabulary);
}

}  // namespace

int64_t kept_continuations(const GenerationOptions& options) {
  return std::max<int64_t>(2, 1 + std::ssize(options.eos_token_id)) * options.num_beams;
}

BeamSearch::BeamSearch(const GenerationOptions& options, std::vector<int32_t> prompt, size_t padding,
                       std::vector<int32_t> source, size_t index)
    : options_(options),
      source_(std::move(source)),
      index_(index),
      prompt_length_(prompt.size()),
      padding_(padding),
      length_(prompt.size()),
      beams_(static_cast<size_t>(options.num_beams)),
      kept_(static_cast<size_t>(kept_continuations(options))),
      considered_(static_cast<size_t>(considered_candidates(options))),
      rows_{std::move(prompt)},
      sums_{0},
      done_(options.max_new_tokens == 0) {}

float BeamSearch::divisor(size_t new_tokens) const {
  const auto n = static_cast<double>(new_tokens);
  if (options_.length_score == LengthScore::none) return 1;
  const double base = options_.length_score == LengthScore::power ? n : (5 + n) / 6;
  return static_cast<float>(std::pow(base, options_.length_penalty));
}

bool BeamSearch::is_last_token() const {
  return static_cast<int64_t>(new_tokens()) + 1 == options_.max_new_tokens;
}

/// Returns whether a continuation ends. With several groups, sequences of the greatest length are examined
/// when all groups have chosen.
bool BeamSearch::ends(const Continuation& continuation) const {
  return options_.ends(continuation.token) || (options_.num_beam_groups == 1 && is_last_token());
}

/// Returns log-probabilities as changed by the options, in memory that is valid until the next call.
std::span<const double> BeamSearch::next_scores(size_t row, std::span<const float> logits,
                                                std::span<const int32_t> chosen_before) {
  const double whole = log_sum_exp(logits);
  const auto nan =
      std::isnan(whole) ? std::ranges::find_if(logits, [](float x) { return std::isnan(x); }) : logits.end();
  if (nan != logits.end())
    fail_with(Status::numeric, "the logit of token {} is NaN: no token can be chosen", nan - logits.begin());
  scores_.resize(logits.size());
  std::ranges::transform(logits, scores_.begin(), [&](double x) { return x - whole; });
  process_scores(options_, {rows_[row], prompt_length_, padding_, source_, chosen_before}, scores_);
  return scores_;
}

/// Appends the best continuations of one row, each reduced by its rank's penalty.
void BeamSearch::append_by_rank(size_t row, float sum, std::span<const double> scores,
                                std::vector<Continuation>& all) const {
  double rank = 0;
  for (const ScoredToken& best : best_scores(scores, 0, kept_)) {
    const double taken = options_.diverse_lambda * rank++;
    const auto score = sum + static_cast<float>(scores[static_cast<size_t>(best.token)] - taken);
    if (std::isfinite(score)) all.push_back({row, best.token, score, score});
  }
}

/// Drawn ones, each with the score that it adds up to.
void BeamSearch::append_drawn(size_t row, float sum, std::span<const double> scores,
                              std::vector<Continuation>& all) const {
  for (const Candidate& c : candidates(scores, options_, options_.eos_token_id.size() + 1)) {
    const size_t place = row * scores.size() + static_cast<size_t>(c.id);
    const auto score = sum + static_cast<float>(scores[static_cast<size_t>(c.id)] / options_.temperature);
    if (std::isfinite(score))
      all.push_back({row, c.id, score, score + gumbel(options_.seed, length_, index_, place)});
  }
}

/// Those of one row that may be among the best of all.
void BeamSearch::append_candidates(size_t row, float sum, std::span<const double> scores,
                                   std::vector<Continuation>& all) const {
  if (options_.diverse_lambda != 0) return append_by_rank(row, sum, scores, all);
  if (!options_.greedy()) return append_drawn(row, sum, scores, all);
  for (const ScoredToken& best : best_scores(scores, sum, kept_))
    all.push_back({row, best.token, best.score, best.score});
}

/// Sets the scores of the candidates as the options change them. Tokens that are no candidates have the score
/// kBanned, which no option raises, except those that are forced.
void BeamSearch::score_candidates(size_t row, const RowCandidates& found, std::span<double> scores) const {
  if (std::isnan(found.log_probabilities[0]))
    fail_with(Status::numeric, "a logit of beam {} is NaN: no token can be chosen", row);
  for (size_t i = 0; i < found.tokens.size(); ++i)
    if (found.tokens[i] >= 0) scores[static_cast<size_t>(found.tokens[i])] = found.log_probabilities[i];
  process_scores(options_, {rows_[row], prompt_length_, padding_, source_}, scores);
}

void BeamSearch::append_candidates(size_t row, const RowCandidates& found,
                                   std::vector<Continuation>& all) const {
  const std::span<double> scores = scratch_scores(found.vocabulary);
  score_candidates(row, found, scores);
  const auto append = [&](int32_t token) {
    const double own = std::exchange(scores[static_cast<size_t>(token)], kBanned);
    const float score = sums_[row] + static_cast<float>(own);
    if (std::isfinite(score)) all.push_back({row, token, score, score});
  };
  for (const int32_t token : found.tokens)
    if (token >= 0) append(token);
  for (const int32_t token : options_.forced_eos_token_id) append(token);
  if (options_.forced_bos_token_id) append(*options_.forced_bos_token_id);
}

void BeamSearch::advance(std::span<const RowCandidates> rows) {
  std::vector<Continuation> all;
  all.reserve(rows.size() * considered_);
  for (size_t row = 0; row < rows_.size(); ++row) append_candidates(row, rows[row].first(considered_), all);
  take(best_of(std::move(all)));
}

std::vector<Continuation> BeamSearch::best_continuations(std::span<const float> logits,
                                                         std::span<const int32_t> chosen_before) {
  const size_t vocabulary = logits.size() / rows_.size();
  std::vector<Continuation> all;
  for (size_t row = 0; row < rows_.size(); ++row)
    append_candidates(row, sums_[row],
                      next_scores(row, logits.subspan(row * vocabulary, vocabulary), chosen_before), all);
  return best_of(std::move(all));
}

std::vector<Continuation> BeamSearch::best_of(std::vector<Continuation> all) const {
  if (all.empty()) fail_with(Status::numeric, "every logit is -infinity: no token can be chosen");
  const size_t count = std::min(kept_, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<ptrdiff_t>(count), {},
                            [](const Continuation& c) { return std::tuple(-c.rank, c.row, c.token); });
  all.resize(count);
  return all;
}

void BeamSearch::advance(std::span<const float> logits, std::span<const int32_t> chosen_before) {
  std::vector<Continuation> best = best_continuations(logits, chosen_before);
  if (options_.num_beam_groups > 1)
    take_in_group(std::move(best));
  else
    take(std::move(best));
}

/// As in transformers 4, the best continuation decides whether a group can improve, even if it ends, and
/// sequences that still run at the greatest length end there.
void BeamSearch::take_in_group(std::vector<Continuation> best) {
  const float best_sum = best.front().score;
  const bool is_last = is_last_token();
  finish(std::span(best).first(std::min(beams_, best.size())));
  go_on(std::move(best));
  done_ =
      rows_.empty() || (is_full() && options_.early_stopping == EarlyStopping::yes) || !can_improve(best_sum);
  if (done_ || !is_last) return;
  for (size_t row = 0; row < rows_.size(); ++row) finish(row, sums_[row], {});
  keep_best();
  done_ = true;
}

void BeamSearch::take(std::vector<Continuation> best) {
  const bool all_end = std::ranges::all_of(best, [&](const Continuation& c) { return ends(c); });
  finish(std::span(best).first(std::min(beams_, best.size())));
  go_on(std::move(best));
  improvable_ = improvable_ && !rows_.empty() && can_improve(sums_[0]);
  done_ = !improvable_ || all_end || (is_full() && options_.early_stopping == EarlyStopping::yes);
}

/// Only the first num_beams may end; the others are there so that enough go on.
void BeamSearch::finish(std::span<const Continuation> best) {
  for (const Continuation& c : best) {
    if (ends(c)) finish(c.row, c.score, std::span(&c.token, 1));
  }
  keep_best();
}

/// Adds a finished hypothesis: a running sequence followed by `more`.
void BeamSearch::finish(size_t row, float sum, std::span<const int32_t> more) {
  Hypothesis found{{rows_[row].begin() + static_cast<ptrdiff_t>(prompt_length_), rows_[row].end()}, 0};
  found.tokens.insert(found.tokens.end(), more.begin(), more.end());
  found.score = sum / divisor(found.tokens.size());
  finished_.push_back(std::move(found));
}

void BeamSearch::keep_best() {
  std::ranges::stable_sort(finished_, std::ranges::greater(), &Hypothesis::score);
  if (finished_.size() > beams_) finished_.resize(beams_);
}

void BeamSearch::go_on(std::vector<Continuation> best) {
  std::erase_if(best, [&](const Continuation& c) { return ends(c); });
  std::ranges::stable_sort(best, std::ranges::greater(), &Continuation::score);
  if (best.size() > beams_) best.resize(beams_);
  std::vector<std::vector<int32_t>> rows;
  sums_.clear(), parents_.clear();
  for (const Continuation& c : best) {
    rows.push_back(rows_[c.row]);
    rows.back().push_back(c.token);
    sums_.push_back(c.score), parents_.push_back(c.row);
  }
  rows_ = std::move(rows);
  ++length_;
}

/// Returns whether the best running beam could still become better than the worst that has ended.
bool BeamSearch::can_improve(float best_sum) const {
  if (!is_full()) return true;
  const bool at_longest = options_.early_stopping == EarlyStopping::never && options_.length_penalty > 0;
  const size_t length = at_longest ? static_cast<size_t>(options_.max_new_tokens) : new_tokens();
  return best_sum / divisor(length) > finished_.back().score;
}

std::vector<Hypothesis> BeamSearch::best(size_t count) const {
  return {finished_.begin(), finished_.begin() + static_cast<ptrdiff_t>(std::min(count, finished_.size()))};
}

}  // namespace smelt
