#include "runtime/engine/serving/drafts.h"

#include <algorithm>

namespace smelt {
namespace {

constexpr size_t kLongestMatch = 4, kShortestMatch = 2, kLongestPause = 32;

}  // namespace

std::span<const int32_t> likely_continuation(std::span<const int32_t> text, size_t most) {
  for (size_t match = kLongestMatch; match >= kShortestMatch; --match) {
    if (text.size() <= match) continue;
    const auto end = text.last(match);
    for (size_t at = text.size() - match; at-- > 0;)
      if (std::ranges::equal(text.subspan(at, match), end)) {
        const auto behind = text.subspan(at + match);
        return behind.first(std::min(most, behind.size()));
      }
  }
  return {};
}

size_t DraftLength::next(size_t limit) {
  if (left_ > 0) {
    --left_;
    return 0;
  }
  return std::min(length_, limit);
}

void DraftLength::record(size_t drafted, size_t kept) {
  if (kept == drafted) length_ = std::max(length_, 2 * drafted);
  if (kept < drafted) length_ = std::max<size_t>(kept, 1);
  failures_ = kept > 0 ? 0 : failures_ + 1;
  pause_ = failures_ <= patience_ ? 0 : std::clamp<size_t>(2 * pause_, 1, kLongestPause);
  left_ = pause_;
}

}  // namespace smelt
