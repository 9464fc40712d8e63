#include "runtime/tokenizers/byte_alphabet.h"

#include <array>

#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// Printable bytes are letters themselves, all others follow U+0100 in order.
struct Alphabet {
  std::array<char16_t, 256> letters{};
  std::array<int16_t, 512> bytes{};

  constexpr Alphabet() {
    bytes.fill(-1);
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const int letter = is_printable(byte) ? byte : next++;
      letters[static_cast<size_t>(byte)] = static_cast<char16_t>(letter);
      bytes[static_cast<size_t>(letter)] = static_cast<int16_t>(byte);
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

char32_t letter_of_byte(unsigned char byte) { return kAlphabet.letters[byte]; }

std::optional<unsigned char> byte_of_letter(char32_t letter) {
  if (letter >= kAlphabet.bytes.size() || kAlphabet.bytes[letter] < 0) return std::nullopt;
  return static_cast<unsigned char>(kAlphabet.bytes[letter]);
}

void append_byte_level(const AlignedText& from, Span range, AlignedText& to) {
  Span origin{};
  for (uint32_t at = range.begin; at < range.end; ++at) {
    if (begins_code_point(from.bytes[at])) origin = from.source[at];
    to.append(letter_of_byte(static_cast<unsigned char>(from.bytes[at])), origin);
  }
}

}  // namespace smelt
