#include "runtime/tokenizers/aligned_text.h"

#include <algorithm>

#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {

AlignedText AlignedText::of(std::string_view text) {
  AlignedText result{std::string(text), {}};
  result.source.resize(text.size());
  for (uint32_t at = 0; at < text.size();) {
    const uint32_t end = at + code_point_at(text, at).bytes;
    std::fill(result.source.begin() + at, result.source.begin() + end, Span{at, end});
    at = end;
  }
  return result;
}

AlignedText AlignedText::slice(Span range) const {
  AlignedText result;
  result.append(*this, range);
  return result;
}

void AlignedText::append(const AlignedText& from, Span range) {
  bytes.append(from.bytes, range.begin, range.end - range.begin);
  source.insert(source.end(), from.source.begin() + range.begin, from.source.begin() + range.end);
}

void AlignedText::append(std::string_view text, Span origin) {
  bytes.append(text);
  source.insert(source.end(), text.size(), origin);
}

void AlignedText::append(char32_t c, Span origin) {
  append_utf8(bytes, c);
  while (source.size() < bytes.size()) source.push_back(origin);
}

TextEdit::TextEdit(AlignedText& text) : text_(text) {
  next_.bytes.reserve(text.bytes.size());
  next_.source.reserve(text.source.size());
}

uint32_t TextEdit::code_point_end(uint32_t at) const {
  const auto size = static_cast<uint32_t>(text_.bytes.size());
  return at < size ? std::min(size, at + code_point_at(text_.bytes, at).bytes) : size;
}

void TextEdit::put(char32_t c, int change) {
  Span origin{};
  if (change > 0) {
    if (at_ > 0) origin = text_.source[at_ - 1];
  } else {
    if (at_ < text_.source.size()) origin = text_.source[at_];
    for (int replaced = 1 - change; replaced > 0; --replaced) at_ = code_point_end(at_);
  }
  next_.append(c, origin);
}

void TextEdit::finish() { text_ = std::move(next_); }

}  // namespace smelt
