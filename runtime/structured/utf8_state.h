// State of a UTF-8 decoder that reads one byte at a time.
#pragma once

#include <cstdint>

namespace smelt::structured {

/// `rest` is the number of continuation bytes that the current character still needs, and [first, last] is
/// the range of the next continuation byte. If `rest` is kInvalid, the text is not UTF-8.
struct Utf8State {
  static constexpr uint8_t kInvalid = 255;
  uint8_t rest = 0, first = 0x80, last = 0xBF;

  bool is_valid() const { return rest != kInvalid; }
  /// Returns whether the text so far consists of whole characters.
  bool is_whole() const { return rest == 0; }

  /// Returns the state after one more byte.
  Utf8State after(uint8_t byte) const {
    if (rest == kInvalid) return *this;
    if (rest > 0)
      return byte >= first && byte <= last ? Utf8State{static_cast<uint8_t>(rest - 1)} : Utf8State{kInvalid};
    if (byte < 0x80) return {};
    if (byte < 0xC2 || byte > 0xF4) return {kInvalid};
    if (byte < 0xE0) return {1};
    if (byte < 0xF0)
      return {2, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
              static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
    return {3, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
};

}  // namespace smelt::structured
