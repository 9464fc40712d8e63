// Selection of the best scores of one row of a beam search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace smelt {

struct ScoredToken {
  int32_t token = 0;
  float score = 0;
};

/// Returns the `count` tokens with the largest values of `sum` + scores[token], which are added in f32 and
/// returned as ScoredToken::score. The largest is first; equal ones are in the order of their tokens. Values
/// that are not finite are left out, so there may be fewer.
std::vector<ScoredToken> best_scores(std::span<const double> scores, float sum, size_t count);

}  // namespace smelt
