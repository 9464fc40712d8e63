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

/// The score of a token is `sum`, the score of the row so far, plus scores[token], added in f32. Returns the
/// `count` tokens with the largest scores, the largest first. Tokens with equal scores are in the order of
/// their ids. Tokens whose score is not finite are left out, so the result may be shorter than `count`.
std::vector<ScoredToken> best_scores(std::span<const double> scores, float sum, size_t count);

}  // namespace smelt
