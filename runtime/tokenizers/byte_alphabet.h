// GPT-2's alphabet: a printable character for every byte.
#pragma once

#include <optional>

#include "runtime/tokenizers/aligned_text.h"

namespace smelt {

char32_t letter_of_byte(unsigned char byte);
/// Nothing for a code point that is no letter of the alphabet.
std::optional<unsigned char> byte_of_letter(char32_t letter);
/// Appends the letters of the bytes of a range, each with the origin of its byte's code point.
void append_byte_level(const AlignedText& from, Span range, AlignedText& to);

}  // namespace smelt
