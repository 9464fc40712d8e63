// Candidate tokens ("words") of one row of scores, the most probable first, and the head of this order from
// which a token is drawn.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/sampling/token_weights.h"

namespace smelt {

/// Words of one row, the largest score first. They are sorted only as far as needed, because few words
/// matter.
class ScoreHead {
 public:
  /// `place` is the sort key of score and id (place_of); `weight` is proportional to the probability.
  struct Word {
    uint64_t place, weight;
  };
  /// A prefix of the order: its number of words, and the sum of their weights.
  struct Head {
    size_t words = 0;
    uint64_t mass = 0;
  };

  /// Requires: no score is NaN, and not all are -infinity. Scores of -infinity are left out.
  ScoreHead(std::span<const float> scores, float temperature);

  size_t size() const { return words_.size(); }
  const Word& operator[](size_t i);
  Head all() const { return {size(), total_}; }
  /// Returns the head of the best `count` words, extended by the words that tie with the last of them.
  Head best(size_t count);
  /// Returns the shortest head whose mass is at least `mass`. Requires: `mass` is at most all().mass.
  Head holding(uint64_t mass);
  /// Returns the head of the words whose weight is at least `weight`.
  Head likely(uint64_t weight) const;
  /// Returns the head that top-k, top-p and min-p leave.
  Head kept(const DrawSettings& settings);

 private:
  std::vector<Word> words_;  // a heap, and after it the words that have been sorted, the first one last
  size_t sorted_ = 0;
  uint64_t total_ = 0;
};

/// Sort key of the largest score, where NaN is below all other scores, and the index of the first NaN.
struct LargestScore {
  uint64_t place = 0;
  std::optional<int64_t> nan;  // the first
};
LargestScore largest_score(std::span<const float> scores);

}  // namespace smelt
