// The next token from one row of logits, with Hugging Face's options and order: penalties, temperature,
// top-k, top-p, min-p, then one draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smelt {

struct SamplingOptions {
  bool do_sample = false;
  double temperature = 1;  // 0 = greedy
  int64_t top_k = 50;      // 0 = all
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  int64_t no_repeat_ngram_size = 0;

  bool greedy() const { return !do_sample || temperature == 0; }
  /// Throws Error naming the option, its value and its range.
  void validate() const;
};

struct Candidate {
  int32_t id;
  double probability;
};

/// The candidates that may be drawn after `history`, most probable first (equal ones by id), probabilities
/// adding to 1. Greedy: the one candidate of probability 1. Throws Error (numeric) where a logit is NaN or
/// all are -infinity.
std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int32_t> history,
                                  const SamplingOptions& options);

/// The candidate at `uniform` in [0, 1) of the cumulative distribution.
int32_t draw(std::span<const Candidate> candidates, double uniform);

}  // namespace smelt
