// Sampling of the next token from the scores of one row, as in Hugging Face's transformers: temperature,
// top-k, top-p and min-p are applied in this order, and then one token is drawn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/generation/generation_options.h"
#include "runtime/sampling/draw_settings.h"

namespace smelt {

/// A token that may be drawn.
struct Candidate {
  int32_t id;
  double probability;
  uint64_t weight = 1;  // integer proportional to the probability (runtime/sampling/token_weights.h)
};

/// Returns the options as settings of the op `sample`. A top_k that is not 0 is raised to at least `fewest`.
/// Seed, position and index are not set.
DrawSettings settings_of(const SamplingOptions& options, size_t fewest = 1);

/// Returns the tokens that may be drawn, the most probable first (equal ones by id), with probabilities that
/// sum to 1. If the options are greedy, returns the best token with probability 1. Otherwise at least
/// `fewest` candidates are kept, if as many tokens have scores above -infinity. Throws Error (numeric) if a
/// score is NaN or all are -infinity.
std::vector<Candidate> candidates(std::span<const double> scores, const SamplingOptions& options,
                                  size_t fewest = 1);

/// Returns the log-probability of one token, by the softmax of the logits.
float log_probability(std::span<const float> logits, int32_t token);

/// Returns the tokens of the highest logits, best first; equal ones by id.
std::vector<int32_t> most_probable(std::span<const float> logits, size_t count);

/// Returns the uniform random number in [0, 1), with 53 bits, for drawing token number `position` (from 0) of
/// sequence `index`.
double uniform_number(uint32_t seed, size_t position, size_t index);

/// Returns the id of the candidate at which the cumulative distribution exceeds `uniform`, a number in [0, 1)
/// of which 53 bits are used. If `uniform` is a result of uniform_number, this is the token that the op
/// `sample` of a graph chooses.
int32_t draw(std::span<const Candidate> candidates, double uniform);

}  // namespace smelt
