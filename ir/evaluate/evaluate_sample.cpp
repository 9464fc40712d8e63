// sample: a token drawn from each row of scores. Weights are those of runtime/sampling/token_weights.h, since
// a draw has no value but by them; all words are sorted here, and each setting cuts the list.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/evaluate/evaluate_ops.h"
#include "runtime/sampling/draw_settings.h"
#include "runtime/sampling/token_weights.h"

namespace smelt::evaluation {
namespace {

struct Word {
  int32_t id;
  float score;
  uint64_t weight;
};

/// The first of the largest in front. None where a score is NaN.
std::vector<Word> sorted_words(const std::vector<float>& scores) {
  std::vector<Word> words;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return {};
    if (scores[i] != -std::numeric_limits<float>::infinity())
      words.push_back({static_cast<int32_t>(i), scores[i], 0});
  }
  std::ranges::stable_sort(words, std::greater(), &Word::score);
  return words;
}

uint64_t mass_of(const std::vector<Word>& words) {
  uint64_t mass = 0;
  for (const Word& word : words) mass += word.weight;
  return mass;
}

/// The shortest list of this mass.
void cut_at_mass(std::vector<Word>& words, uint64_t mass) {
  size_t kept = 0;
  for (uint64_t sum = 0; sum < mass; ++kept) sum += words[kept].weight;
  words.resize(kept);
}

void cut_words(std::vector<Word>& words, const DrawSettings& settings) {
  if (settings.top_k > 0 && static_cast<size_t>(settings.top_k) < words.size()) {
    const float least = words[static_cast<size_t>(settings.top_k) - 1].score;
    std::erase_if(words, [&](const Word& word) { return word.score < least; });
  }
  if (settings.top_p < 1) cut_at_mass(words, nucleus_mass(mass_of(words), settings.top_p));
  std::erase_if(words, [&](const Word& word) { return word.weight < least_weight(settings.min_p); });
}

int32_t token_of(std::vector<Word> words, const DrawSettings& settings) {
  if (words.empty()) return -1;
  if (!(settings.temperature > 0)) return words.front().id;
  const float largest = words.front().score, rate = 1 / settings.temperature;
  for (Word& word : words)
    word.weight = word.score == largest ? kWholeWeight : weight_of((word.score - largest) * rate);
  cut_words(words, settings);
  const uint64_t bits = random_bits(settings.seed, settings.position, settings.index);
  cut_at_mass(words, drawn_part(mass_of(words), bits) + 1);
  return words.back().id;
}

template <typename S>
S log_share(const std::vector<Word>& words, float score) {
  double sum = 0;
  const double largest = words.front().score;
  for (const Word& word : words) sum += word.score == largest ? 1 : std::exp(word.score - largest);
  return S(
      static_cast<decltype(math::primal(S(0)))>((score == largest ? 0 : score - largest) - std::log(sum)));
}

template <typename S>
DrawSettings settings_of(const S* numbers, const S* integers) {
  return settings_of_columns([&](size_t i) { return static_cast<float>(math::primal(numbers[i])); },
                             [&](size_t i) { return static_cast<int32_t>(math::primal(integers[i])); });
}

}  // namespace

template <typename S>
Arrays<S> evaluate_sample(const Call<S>& call) {
  const Array<S>& x = call.operand(0);
  const auto columns = static_cast<size_t>(x.shape.back());
  Arrays<S> results = {call.zeros(0), call.zeros(1)};
  for (size_t row = 0; row < results[0].data.size(); ++row) {
    std::vector<float> scores;
    for (size_t i = 0; i < columns; ++i)
      scores.push_back(static_cast<float>(math::primal(x.data[row * columns + i])));
    const std::vector<Word> words = sorted_words(scores);
    const int32_t token = token_of(words, settings_of(&call.operand(1).data[row * size_t{kDrawNumbers}],
                                                      &call.operand(2).data[row * size_t{kDrawIntegers}]));
    results[0].data[row] = S(static_cast<decltype(math::primal(S(0)))>(token));
    results[1].data[row] = token < 0 ? S(std::numeric_limits<float>::quiet_NaN())
                                     : log_share<S>(words, scores[static_cast<size_t>(token)]);
  }
  return results;
}

SMELT_EVALUATE_ALL(evaluate_sample)

}  // namespace smelt::evaluation
