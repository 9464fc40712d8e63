#include "runtime/structured/code_points.h"

#include <algorithm>

namespace smelt::structured {
namespace {

constexpr char32_t kBeforeSurrogates = 0xD7FF, kAfterSurrogates = 0xE000;

/// Appends a range without its surrogates.
void append_scalars(std::vector<CodePointRange>& ranges, CodePointRange range) {
  range.last = std::min(range.last, kLastCodePoint);
  if (range.first <= kBeforeSurrogates && range.first <= range.last)
    ranges.push_back({range.first, std::min(range.last, kBeforeSurrogates)});
  const char32_t first = std::max(range.first, kAfterSurrogates);
  if (first <= range.last) ranges.push_back({first, range.last});
}

}  // namespace

CodePointSet::CodePointSet(std::vector<CodePointRange> ranges) {
  std::vector<CodePointRange> scalars;
  for (const CodePointRange& range : ranges) append_scalars(scalars, range);
  std::sort(scalars.begin(), scalars.end());
  for (const CodePointRange& range : scalars) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1)
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    else
      ranges_.push_back(range);
  }
}

CodePointSet CodePointSet::all() { return CodePointSet(std::vector<CodePointRange>{{0, kLastCodePoint}}); }

CodePointSet CodePointSet::of(std::string_view characters) {
  std::vector<CodePointRange> ranges;
  for (const char c : characters) ranges.push_back({static_cast<char32_t>(c), static_cast<char32_t>(c)});
  return CodePointSet(std::move(ranges));
}

bool CodePointSet::contains(char32_t c) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), c,
                       [](char32_t value, const CodePointRange& range) { return value < range.first; });
  return after != ranges_.begin() && c <= std::prev(after)->last;
}

CodePointSet operator|(const CodePointSet& a, const CodePointSet& b) {
  std::vector<CodePointRange> ranges = a.ranges();
  ranges.insert(ranges.end(), b.ranges().begin(), b.ranges().end());
  return CodePointSet(std::move(ranges));
}

CodePointSet operator-(const CodePointSet& a, const CodePointSet& b) {
  std::vector<CodePointRange> ranges;
  auto removed = b.ranges().begin();
  for (CodePointRange range : a.ranges()) {
    while (removed != b.ranges().end() && removed->last < range.first) ++removed;
    for (auto cut = removed; cut != b.ranges().end() && cut->first <= range.last; ++cut) {
      if (cut->first > range.first) ranges.push_back({range.first, cut->first - 1});
      range.first = cut->last + 1;
    }
    if (range.first <= range.last) ranges.push_back(range);
  }
  return CodePointSet(std::move(ranges));
}

CodePointSet operator&(const CodePointSet& a, const CodePointSet& b) { return a - (CodePointSet::all() - b); }

}  // namespace smelt::structured
