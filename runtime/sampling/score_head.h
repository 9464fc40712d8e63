// Candidate tokens ("words") of one row of scores in the order of their probability, and the prefix ("head")
// of this order from which a token is drawn.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/sampling/token_weights.h"

namespace smelt {

/// The words of one row in the order of their scores, the largest first. They are sorted only up to the last
/// word that was needed so far, because usually only few words are needed.
class ScoreHead {
 public:
  /// `place` is the sort key made from score and id (place_of in token_weights.h). `weight` is proportional
  /// to the probability.
  struct Word {
    uint64_t place, weight;
  };
  /// A prefix of this order: its number of words, and the sum of their weights (`mass`).
  struct Head {
    size_t words = 0;
    uint64_t mass = 0;
  };

  /// Creates one word per score above -infinity. Requires: no score is NaN, not all are -infinity, and
  /// `temperature` is above 0.
  ScoreHead(std::span<const float> scores, float temperature);

  size_t size() const { return words_.size(); }
  /// Returns word i of the order, and sorts as far as that word.
  const Word& operator[](size_t i);
  Head all() const { return {size(), total_}; }
  /// Returns the head of the best `count` words, extended by the words that tie with the last of them.
  Head best(size_t count);
  /// Returns the shortest head whose mass is at least `mass`. Requires: `mass` is at most all().mass.
  Head holding(uint64_t mass);
  /// Returns the head that consists of the words whose weight is at least `weight`.
  Head likely(uint64_t weight) const;
  /// Returns the head that consists of the words that top_k, top_p and min_p of the settings do not exclude.
  Head kept(const DrawSettings& settings);

 private:
  std::vector<Word> words_;  // a heap, and after it the sorted words in reverse order
  size_t sorted_ = 0;        // number of sorted words
  uint64_t total_ = 0;
};

/// Sort key (place_of) of the largest score, where NaN is below all other scores, and the index of the first
/// NaN.
struct LargestScore {
  uint64_t place = 0;
  std::optional<int64_t> nan;  // nothing: no score is NaN
};
LargestScore largest_score(std::span<const float> scores);

}  // namespace smelt
