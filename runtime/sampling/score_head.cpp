#include "runtime/sampling/score_head.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smelt {
namespace {

bool comes_later(const ScoreHead::Word& a, const ScoreHead::Word& b) { return a.place < b.place; }

}  // namespace

ScoreHead::ScoreHead(std::span<const float> scores, float temperature) {
  std::vector<uint64_t> weights(scores.size());
  weights_of(scores, *std::ranges::max_element(scores), 1.0F / temperature, weights.data());
  words_.reserve(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == -std::numeric_limits<float>::infinity()) continue;
    words_.push_back({place_of(scores[i], static_cast<int64_t>(i)), weights[i]});
    total_ += weights[i];
  }
  std::ranges::make_heap(words_, comes_later);
}

const ScoreHead::Word& ScoreHead::operator[](size_t i) {
  for (; sorted_ <= i; ++sorted_)
    std::pop_heap(words_.begin(), words_.end() - static_cast<ptrdiff_t>(sorted_), comes_later);
  return words_[words_.size() - 1 - i];
}

ScoreHead::Head ScoreHead::best(size_t count) {
  if (count >= size()) return all();
  Head head;
  const auto score = [&](size_t i) { return (*this)[i].place >> 32; };
  while (head.words < size() && (head.words < count || score(head.words) == score(count - 1)))
    head.mass += (*this)[head.words++].weight;
  return head;
}

ScoreHead::Head ScoreHead::holding(uint64_t mass) {
  Head head;
  while (head.mass < mass) head.mass += (*this)[head.words++].weight;
  return head;
}

ScoreHead::Head ScoreHead::likely(uint64_t weight) const {
  Head head;
  for (const Word& word : words_)
    if (word.weight >= weight) ++head.words, head.mass += word.weight;
  return head;
}

ScoreHead::Head ScoreHead::kept(const DrawSettings& settings) {
  Head head = settings.top_k > 0 ? best(static_cast<size_t>(settings.top_k)) : all();
  if (settings.top_p < 1) head = holding(nucleus_mass(head.mass, settings.top_p));
  if (settings.min_p > 0) {
    const Head probable = likely(least_weight(settings.min_p));
    if (probable.words < head.words) head = probable;
  }
  return head;
}

LargestScore largest_score(std::span<const float> scores) {
  LargestScore found;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i]) && !found.nan) found.nan = static_cast<int64_t>(i);
    found.place = std::max(found.place, place_of(scores[i], static_cast<int64_t>(i)));
  }
  return found;
}

}  // namespace smelt
