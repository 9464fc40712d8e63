// The words of a row, the most probable first, and the head from which a token is drawn.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/sampling/token_weights.h"

namespace smelt {

/// Words of a row. They are sorted only as far as needed, because few of a row matter.
class ScoreHead {
 public:
  struct Word {
    uint64_t place, weight;
  };
  /// The first words of the order, and the sum of their weights.
  struct Head {
    size_t words = 0;
    uint64_t mass = 0;
  };

  /// Requires: no score is NaN, and not all are -infinity. Scores of -infinity are no words.
  ScoreHead(std::span<const float> scores, float temperature);

  size_t size() const { return words_.size(); }
  const Word& operator[](size_t i);
  Head all() const { return {size(), total_}; }
  /// Returns the best `count`, and those that score as the last of them.
  Head best(size_t count);
  /// Returns the shortest head of at least this mass, which is at most all.
  Head holding(uint64_t mass);
  /// Those of at least this weight.
  Head likely(uint64_t weight) const;
  /// Returns the head that top-k, top-p and min-p leave.
  Head kept(const DrawSettings& settings);

 private:
  std::vector<Word> words_;  // a heap, and after it the words that have been sorted, the first one last
  size_t sorted_ = 0;
  uint64_t total_ = 0;
};

/// The place of the largest score (NaN below all), and whether one is NaN.
struct LargestScore {
  uint64_t place = 0;
  std::optional<int64_t> nan;  // the first
};
LargestScore largest_score(std::span<const float> scores);

}  // namespace smelt
