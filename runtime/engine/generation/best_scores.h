// Selection of the best few scores of a row.
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

/// Returns the tokens of the largest `sum` + score, added in f32, the largest first and equal ones by token.
/// At most `count`; those whose sum is not finite are left out.
std::vector<ScoredToken> best_scores(std::span<const double> scores, float sum, size_t count);

}  // namespace smelt
