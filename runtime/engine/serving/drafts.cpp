#include "runtime/engine/serving/drafts.h"

#include <algorithm>

namespace smelt {
namespace {

constexpr size_t kLongestMatch = 4, kShortestMatch = 2, kLongestPause = 64;
constexpr double kHopePerToken = 1.0 / 256;  // of a text without drafts

/// Returns how many tokens, at most kLongestMatch, are equal at the ends of `text` and of its first `length`
/// tokens.
size_t equal_at_ends(std::span<const int32_t> text, size_t length) {
  const auto beginning = text.first(length);
  const auto differs = std::mismatch(beginning.rbegin(), beginning.rend(), text.rbegin()).first;
  return std::min<size_t>(kLongestMatch, static_cast<size_t>(differs - beginning.rbegin()));
}

/// Returns the end of the earlier occurrence that likely_continuation continues; 0 if there is none.
size_t end_of_match(std::span<const int32_t> text) {
  size_t best = 0, longest = kShortestMatch - 1;
  for (size_t end = text.size() - 1; end > longest; --end) {
    if (text[end - 1] != text.back()) continue;
    const size_t match = equal_at_ends(text, end);
    if (match > longest) best = end, longest = match;
    if (match == kLongestMatch) break;
  }
  return best;
}

}  // namespace

std::vector<int32_t> likely_continuation(std::span<const int32_t> text, size_t most) {
  const size_t begin = text.empty() ? 0 : end_of_match(text);
  std::vector<int32_t> found;
  for (size_t at = begin; begin > 0 && at < begin + most; ++at)
    found.push_back(at < text.size() ? text[at] : found[at - text.size()]);
  return found;
}

size_t DraftLength::next(size_t limit) {
  expected_ = std::max(expected_, std::min(expected_ + kHopePerToken, 1.0));
  if (left_ > 0) {
    --left_;
    return 0;
  }
  return std::min(length_, limit);
}

void DraftLength::record(size_t drafted, size_t kept) {
  if (kept == drafted) length_ = std::max(length_, 2 * drafted);
  if (kept < drafted) length_ = std::max<size_t>(kept, 1);
  expected_ = (expected_ + static_cast<double>(kept)) / 2;
  const bool fails = 2 * kept < drafted;
  failures_ = fails ? failures_ + 1 : 0;
  if (!fails) pause_ /= 4;
  if (failures_ > patience_) left_ = pause_ = std::clamp<size_t>(2 * pause_, 1, kLongestPause);
}

}  // namespace smelt
