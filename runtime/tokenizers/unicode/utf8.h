// UTF-8: access to the code points of valid text, validation of text, and repair of invalid text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smelt {

/// A code point of a text.
struct CodePoint {
  char32_t value;
  uint32_t bytes;  // length in UTF-8
};

/// Returns the code point that begins at byte `at`. Requires: the text is valid UTF-8, and a code point
/// begins there.
inline CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const auto tail = [&](size_t i) { return static_cast<char32_t>(byte(i) & 0x3F); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {static_cast<char32_t>(first & 0x1F) << 6 | tail(1), 2};
  if (first < 0xF0) return {static_cast<char32_t>(first & 0x0F) << 12 | tail(1) << 6 | tail(2), 3};
  return {static_cast<char32_t>(first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4};
}

/// Returns the code point that ends before byte `end`. Requires: the text is valid UTF-8, and end > 0.
inline CodePoint code_point_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return code_point_at(text, at);
}

inline bool begins_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

inline uint32_t utf8_length(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }
void append_utf8(std::string& text, char32_t c);
size_t count_code_points(std::string_view text);
bool is_ascii(std::string_view text);

/// The longest prefix of a text that is valid UTF-8, and the bytes after it.
struct Utf8Prefix {
  size_t valid;     // bytes of the prefix
  size_t wrong;     // number of next bytes, which repair_utf8 replaces by one U+FFFD; 0: the text is valid
  bool incomplete;  // true: the bytes after the prefix are the beginning of a code point
};
Utf8Prefix valid_utf8_prefix(std::string_view text);
bool is_utf8(std::string_view text);

/// Returns the text with U+FFFD in place of every invalid sequence of bytes. Unicode's "substitution of
/// maximal subparts" defines where one such sequence ends.
std::string repair_utf8(std::string_view text);

/// Returns the text with `to` in place of every `from`. Requires: `from` is not empty.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace smelt
