// The next token from the scores of one row, with Hugging Face's options and order: temperature, top-k,
// top-p, min-p, then one draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/generation/generation_options.h"
#include "runtime/sampling/draw_settings.h"

namespace smelt {

struct Candidate {
  int32_t id;
  double probability;
  uint64_t weight = 1;  // that it is drawn by (runtime/sampling/token_weights.h)
};

/// Returns the settings that draw a token by the options, with a top_k of at least `fewest`; without seed,
/// position and index.
DrawSettings settings_of(const SamplingOptions& options, size_t fewest = 1);

/// Returns the candidates that may be drawn, most probable first (equal ones by id), with probabilities that
/// sum to 1. Greedy: the one candidate of probability 1. Keeps at least `fewest` candidates if that many
/// exist. Throws Error (numeric) if a score is NaN or all are -infinity.
std::vector<Candidate> candidates(std::span<const double> scores, const SamplingOptions& options,
                                  size_t fewest = 1);

/// Returns the log-probability of one token, by the softmax of the logits.
float log_probability(std::span<const float> logits, int32_t token);

/// Returns the tokens of the highest logits, best first; equal ones by id.
std::vector<int32_t> most_probable(std::span<const float> logits, size_t count);

/// Returns a uniform number in [0, 1) with 53 bits, which draws the token after the first `position` ones of
/// sequence `index`.
double uniform_number(uint32_t seed, size_t position, size_t index);

/// The candidate at `uniform` in [0, 1), of which 53 bits count, of the cumulative distribution. With
/// uniform_number it is the token that the op `sample` chooses.
int32_t draw(std::span<const Candidate> candidates, double uniform);

}  // namespace smelt
