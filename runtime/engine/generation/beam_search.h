// Beam search for one sentence, as transformers 5 defines it: the beams that are kept, the end of a sentence,
// and the selection of the results. The caller runs the model that computes the scores.
#pragma once

#include <span>
#include <vector>

#include "runtime/engine/generation/logits_processors.h"

namespace smelt {

/// A sequence of new tokens and its score: the sum of its tokens' log-probabilities divided by LengthScore.
struct Hypothesis {
  std::vector<int32_t> tokens;
  float score = 0;
};

/// One more token of a running sequence.
struct Continuation {
  size_t row = 0;
  int32_t token = 0;
  float score = 0;  // the sum of log-probabilities
  double rank = 0;  // the score, or what a draw made of it
};

/// Number of continuations that a search considers in each step: enough that num_beams of them do not end.
int64_t kept_continuations(const GenerationOptions& options);

class BeamSearch {
 public:
  /// `prompt`: the decoder's first tokens, of which the first `padding` are padding; `source` as in History.
  /// With options.do_sample, random numbers are those of sentence `index`. The options must outlive the
  /// search.
  BeamSearch(const GenerationOptions& options, std::vector<int32_t> prompt, size_t padding,
             std::vector<int32_t> source, size_t index);

  /// Returns the sequences that need a next token, with their prompt, all of one length: at most num_beams,
  /// and one before the first step, when all beams are equal.
  const std::vector<std::vector<int32_t>>& rows() const { return rows_; }
  /// Takes the logits of the next token of each of `rows`, one after the other; `chosen_before` as in
  /// History. Throws Error (numeric) if one is NaN or no token can be chosen.
  void advance(std::span<const float> logits, std::span<const int32_t> chosen_before = {});
  /// Takes the best continuations, the best first, that were computed elsewhere: `kept` of them, or fewer if
  /// fewer exist.
  void take(std::vector<Continuation> best);
  size_t kept() const { return kept_; }
  bool done() const { return done_; }

  /// Returns the best sequences that have ended, best first.
  std::vector<Hypothesis> best(size_t count) const;

 private:
  std::span<const double> next_scores(size_t row, std::span<const float> logits,
                                      std::span<const int32_t> chosen_before);
  void append_by_rank(size_t row, float sum, std::span<const double> scores,
                      std::vector<Continuation>& all) const;
  void append_drawn(size_t row, float sum, std::span<const double> scores,
                    std::vector<Continuation>& all) const;
  void append_candidates(size_t row, float sum, std::span<const double> scores,
                         std::vector<Continuation>& all) const;
  std::vector<Continuation> best_continuations(std::span<const float> logits,
                                               std::span<const int32_t> chosen_before);
  bool is_last_token() const;
  bool ends(const Continuation& continuation) const;
  void finish(size_t row, float sum, std::span<const int32_t> more);
  void keep_best();
  void take_in_group(std::vector<Continuation> best);
  void finish(std::span<const Continuation> best);
  void go_on(std::vector<Continuation> best);
  bool can_improve(float best_sum) const;
  bool is_full() const { return finished_.size() == beams_; }
  float divisor(size_t new_tokens) const;
  size_t new_tokens() const { return length_ - prompt_length_; }

  const GenerationOptions& options_;
  std::vector<int32_t> source_;
  size_t index_, prompt_length_, padding_, length_;
  size_t beams_, kept_;
  std::vector<std::vector<int32_t>> rows_;
  std::vector<float> sums_;           // of the rows
  std::vector<double> scores_;        // of the row that is looked at
  std::vector<Hypothesis> finished_;  // at most num_beams, best first
  bool improvable_ = true, done_ = false;
};

}  // namespace smelt
