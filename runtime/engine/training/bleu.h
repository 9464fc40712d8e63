// BLEU of translations, by the definition of sacrebleu: the metric of a corpus of one reference per
// translation, with the tokenisation 13a of mteval and exponential smoothing. Papineni et al., "BLEU: a
// Method for Automatic Evaluation of Machine Translation", 2002; Post, "A Call for Clarity in Reporting BLEU
// Scores", 2018.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// Returns the tokens of a text in UTF-8 by the tokenisation 13a: entities of HTML are replaced, and
/// punctuation of ASCII is separated from words, except full stops and commas between digits.
std::vector<std::string> tokenize_13a(std::string_view text);

/// The counts of a corpus, to which translations are added one by one.
class Bleu {
 public:
  static constexpr size_t kLongest = 4;  // tokens of an n-gram
  /// Numbers of matched n-grams (clipped by their number in the reference) and of all n-grams of the
  /// translations, for n from 1 to kLongest, and of tokens of translations and of references.
  struct Counts {
    std::array<int64_t, kLongest> matched{}, all{};
    int64_t tokens = 0, reference_tokens = 0;
  };

  void add(std::string_view translation, std::string_view reference);
  const Counts& counts() const { return counts_; }
  /// Returns the score from 0 to 100.
  double score() const;

 private:
  Counts counts_;
};

}  // namespace smelt
