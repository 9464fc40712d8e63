// The edits that normalizers are made of.
#include <optional>

#include "runtime/tokenizers/normalizers/normalizer.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {

void prepend(AlignedText& text, std::string_view prefix) {
  if (text.bytes.empty() || prefix.empty()) return;
  const Span origin = text.source.front();
  text.bytes.insert(0, prefix);
  text.source.insert(text.source.begin(), prefix.size(), origin);
}

void replace_matches(AlignedText& text, const Pattern& pattern, std::string_view replacement) {
  AlignedText next;
  uint32_t at = 0;
  bool any = false;
  pattern.each_match(text.bytes, [&](Span match) {
    next.append(text, {at, match.begin});
    next.append(replacement, match.end > 0 ? text.source[match.end - 1] : Span{});
    at = match.end;
    any = true;
  });
  if (!any) return;
  next.append(text, {at, static_cast<uint32_t>(text.bytes.size())});
  text = std::move(next);
}

void filter_code_points(AlignedText& text, const std::function<bool(char32_t)>& keep) {
  AlignedText next;
  next.bytes.reserve(text.bytes.size());
  next.source.reserve(text.source.size());
  for (uint32_t at = 0; at < text.bytes.size();) {
    const CodePoint c = code_point_at(text.bytes, at);
    if (keep(c.value)) next.append(text, {at, at + c.bytes});
    at += c.bytes;
  }
  text = std::move(next);
}

}  // namespace smelt
