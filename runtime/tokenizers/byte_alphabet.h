// Byte alphabet of GPT-2, which represents every byte by a printable character ("letter").
#pragma once

#include <optional>

#include "runtime/tokenizers/aligned_text.h"

namespace smelt {

/// Returns the letter that represents a byte.
char32_t letter_of_byte(unsigned char byte);
/// Returns the byte of a letter; nothing if the code point is not in the alphabet.
std::optional<unsigned char> byte_of_letter(char32_t letter);
/// Appends one letter to `to` for each byte of `from` in the range. The letter gets the origin of the byte
/// (AlignedText::source).
void append_byte_level(const AlignedText& from, Span range, AlignedText& to);

}  // namespace smelt
