#include "runtime/tokenizers/unicode/utf8.h"

#include <algorithm>

namespace smelt {
namespace {

/// Valid continuations of a first byte: the number of bytes, and the range of the second, which excludes long
/// forms, surrogates and code points above U+10FFFF.
struct Lead {
  uint8_t bytes, low, high;
};

Lead lead_of(unsigned char first) {
  if (first < 0x80) return {1, 0, 0};
  if (first < 0xC2) return {0, 0, 0};
  if (first < 0xE0) return {2, 0x80, 0xBF};
  if (first == 0xE0) return {3, 0xA0, 0xBF};
  if (first == 0xED) return {3, 0x80, 0x9F};
  if (first < 0xF0) return {3, 0x80, 0xBF};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first < 0xF4) return {4, 0x80, 0xBF};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

/// Returns the number of bytes at the beginning of `text` that can be those of one code point; at least 1
/// unless the first byte is invalid.
size_t well_formed_bytes(std::string_view text, const Lead& lead) {
  size_t count = std::min<size_t>(lead.bytes, 1);
  while (count < lead.bytes && count < text.size()) {
    const auto byte = static_cast<unsigned char>(text[count]);
    const unsigned char low = count == 1 ? lead.low : 0x80, high = count == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) break;
    ++count;
  }
  return count;
}

}  // namespace

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Utf8Prefix valid_utf8_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
    const size_t bytes = well_formed_bytes(text.substr(at), lead);
    if (bytes == 0 || bytes < lead.bytes)
      return {at, std::max<size_t>(bytes, 1), bytes > 0 && at + bytes == text.size()};
    at += bytes;
  }
  return {at, 0, false};
}

bool is_utf8(std::string_view text) { return valid_utf8_prefix(text).valid == text.size(); }

std::string repair_utf8(std::string_view text) {
  std::string result;
  while (true) {
    const Utf8Prefix prefix = valid_utf8_prefix(text);
    result.append(text.substr(0, prefix.valid));
    if (prefix.wrong == 0) return result;
    append_utf8(result, 0xFFFD);
    text.remove_prefix(prefix.valid + prefix.wrong);
  }
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string_view::npos; found = text.find(from, at)) {
    result.append(text.substr(at, found - at)).append(to);
    at = found + from.size();
  }
  return result.append(text.substr(at));
}

}  // namespace smelt
