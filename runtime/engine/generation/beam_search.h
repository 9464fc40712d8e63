// Beam search for one sentence, by the rules of version 5 of the library transformers. The caller runs the
// model that computes the logits.
#pragma once

#include <span>
#include <vector>

#include "runtime/engine/generation/logits_processors.h"
#include "runtime/engine/generation/row_candidates.h"

namespace smelt {

/// A finished sequence: its new tokens, and its score. The score is the sum of the tokens' log-probabilities,
/// divided by a divisor that depends on the length (LengthScore).
struct Hypothesis {
  std::vector<int32_t> tokens;
  float score = 0;
};

/// A running sequence with one more token.
struct Continuation {
  size_t row = 0;  // index of the running sequence in BeamSearch::rows
  int32_t token = 0;
  float score = 0;  // sum of the log-probabilities of all new tokens
  double rank = 0;  // sort key: the score, plus Gumbel noise if options.do_sample is set
};

/// Returns the number of continuations that a search considers in each step: (1 + number of end tokens) *
/// num_beams, but at least 2 * num_beams.
int64_t kept_continuations(const GenerationOptions& options);

class BeamSearch {
 public:
  /// `prompt`: the decoder's first tokens, of which the first `padding` are padding. `source`: the encoder's
  /// input, or the prompt if there is no encoder. With options.do_sample, `index` selects the random numbers.
  /// Requires: `options` outlives the search.
  BeamSearch(const GenerationOptions& options, std::vector<int32_t> prompt, size_t padding,
             std::vector<int32_t> source, size_t index);

  /// Returns the running sequences, each with its prompt, all of the same length. There are at most
  /// num_beams, and only one before the first step.
  const std::vector<std::vector<int32_t>>& rows() const { return rows_; }
  /// Returns, for each sequence of rows(), the index of the one that it continues in rows() before the last
  /// step. Requires: a step was made.
  const std::vector<size_t>& parents() const { return parents_; }
  /// Continues the search by one token. `logits` are those of the next token of each sequence of rows(),
  /// [rows, vocabulary]. `chosen_before`: tokens that earlier groups of beams have chosen in this step.
  /// Throws Error (numeric) if a logit is NaN or no token can be chosen.
  void advance(std::span<const float> logits, std::span<const int32_t> chosen_before = {});
  /// Does the same by the candidates of each sequence of rows(). Requires: candidates_suffice(options).
  void advance(std::span<const RowCandidates> rows);
  /// Continues the search by one token with continuations that were computed elsewhere: the best kept() of
  /// them, or all if there are fewer, the best first.
  void take(std::vector<Continuation> best);
  /// Returns kept_continuations of the options.
  size_t kept() const { return kept_; }
  bool done() const { return done_; }

  /// Returns the best finished sequences, best first; at most `count`.
  std::vector<Hypothesis> best(size_t count) const;

 private:
  std::span<const double> next_scores(size_t row, std::span<const float> logits,
                                      std::span<const int32_t> chosen_before);
  /// Appends to `all` those continuations of a row that may be among the best of all rows. `sum` is the row's
  /// sum of log-probabilities. append_by_rank is for diverse_lambda, append_drawn for do_sample, and
  /// append_candidates selects the method.
  void append_by_rank(size_t row, float sum, std::span<const double> scores,
                      std::vector<Continuation>& all) const;
  void append_drawn(size_t row, float sum, std::span<const double> scores,
                    std::vector<Continuation>& all) const;
  void append_candidates(size_t row, float sum, std::span<const double> scores,
                         std::vector<Continuation>& all) const;
  void score_candidates(size_t row, const RowCandidates& found, std::span<double> scores) const;
  /// Does the same by the candidates of the row.
  void append_candidates(size_t row, const RowCandidates& found, std::vector<Continuation>& all) const;
  std::vector<Continuation> best_continuations(std::span<const float> logits,
                                               std::span<const int32_t> chosen_before);
  /// Returns the best kept() of these continuations, the best first.
  std::vector<Continuation> best_of(std::vector<Continuation> all) const;
  /// Returns whether max_new_tokens allows no token after the next one.
  bool is_last_token() const;
  bool ends(const Continuation& continuation) const;
  /// Adds a running sequence, followed by the tokens `more`, to the finished ones. `sum` is the sum of its
  /// log-probabilities.
  void finish(size_t row, float sum, std::span<const int32_t> more);
  /// Sorts the finished sequences, and removes all but the best num_beams.
  void keep_best();
  /// Does the same as take() for one of several groups of beams, by the rules of transformers 4.
  void take_in_group(std::vector<Continuation> best);
  /// Adds those of these continuations that end to the finished sequences.
  void finish(std::span<const Continuation> best);
  /// Replaces the running sequences by the best num_beams of those continuations that do not end.
  void go_on(std::vector<Continuation> best);
  /// Returns whether the best running sequence could still become better than the worst finished one.
  bool can_improve(float best_sum) const;
  bool is_full() const { return finished_.size() == beams_; }
  /// Returns the divisor by which the score of a sequence with this number of new tokens is divided
  /// (LengthScore).
  float divisor(size_t new_tokens) const;
  size_t new_tokens() const { return length_ - prompt_length_; }

  const GenerationOptions& options_;
  std::vector<int32_t> source_;
  size_t index_, prompt_length_, padding_, length_;
  size_t beams_, kept_, considered_;
  std::vector<std::vector<int32_t>> rows_;
  std::vector<size_t> parents_;
  std::vector<float> sums_;           // sums of log-probabilities, by row
  std::vector<double> scores_;        // result of next_scores
  std::vector<Hypothesis> finished_;  // at most num_beams, best first
  bool improvable_ = true, done_ = false;
};

}  // namespace smelt
