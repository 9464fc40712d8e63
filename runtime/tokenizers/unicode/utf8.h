// UTF-8: code points of text that is known to be valid, and the repair of text that is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smelt {

struct CodePoint {
  char32_t value;
  uint32_t bytes;
};

/// The code point at a byte where one begins; the text is valid.
inline CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const auto tail = [&](size_t i) { return static_cast<char32_t>(byte(i) & 0x3F); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {static_cast<char32_t>(first & 0x1F) << 6 | tail(1), 2};
  if (first < 0xF0) return {static_cast<char32_t>(first & 0x0F) << 12 | tail(1) << 6 | tail(2), 3};
  return {static_cast<char32_t>(first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4};
}

/// The code point that ends before a byte; the text is valid and `end` above 0.
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

/// The longest valid prefix, in bytes. `incomplete` is set if the rest is the beginning of a code point, and
/// `wrong` is the length of the sequence that cannot be one (0 at the end).
struct Utf8Prefix {
  size_t valid;
  size_t wrong;
  bool incomplete;
};
Utf8Prefix valid_utf8_prefix(std::string_view text);
bool is_utf8(std::string_view text);

/// U+FFFD in place of every sequence that is no code point, by Unicode's practice of maximal subparts.
std::string repair_utf8(std::string_view text);

/// Every `from`, which is not empty, becomes `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace smelt
