// The next token from the scores of one row, with Hugging Face's options and order: temperature, top-k,
// top-p, min-p, then one draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/generation/generation_options.h"

namespace smelt {

struct Candidate {
  int32_t id;
  double probability;
  uint64_t weight = 1;  // that it is drawn by (runtime/sampling/token_weights.h)
};

/// The candidates that may be drawn, most probable first (equal ones by id), probabilities adding to 1.
/// Greedy: the one candidate of probability 1. As many as `fewest` are kept where there are so many. Throws
/// Error (numeric) where a score is NaN or all are -infinity.
std::vector<Candidate> candidates(std::span<const double> scores, const SamplingOptions& options,
                                  size_t fewest = 1);

/// Of one token, by the softmax of the logits.
float log_probability(std::span<const float> logits, int32_t token);

/// The tokens of the highest logits, best first; equal ones by id.
std::vector<int32_t> most_probable(std::span<const float> logits, size_t count);

/// Uniform in [0, 1) with 53 bits: what draws the token behind the first `position` ones of sequence `index`.
double uniform_number(uint32_t seed, size_t position, size_t index);

/// The candidate at `uniform` in [0, 1), of which 53 bits count, of the cumulative distribution. With
/// uniform_number it is the token that `sample` chooses in a graph.
int32_t draw(std::span<const Candidate> candidates, double uniform);

}  // namespace smelt
