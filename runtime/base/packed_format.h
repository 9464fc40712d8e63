// Formats of numbers in 4 or 8 bits, which are packed in words of 32 bits.
//
// A format is a table: code c stands for the number values[c]. A word has 32 / bits codes of neighbouring
// elements. Of 8 bits, element i is byte i, the lowest first. Of 4 bits, element 2 i is at bit 4 i and
// element 2 i + 1 at bit 16 + 4 i, so that one shift and one mask leave two neighbours in the halves of a
// word, as 16-bit types need them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace smelt {

struct PackedFormat {
  /// "int4": -8 to 7, code c is c - 8.
  /// "nf4": 16 quantiles of the normal distribution from -1 to 1 (Dettmers et al., QLoRA, 2023, appendix E).
  /// "int8": two's complement.
  /// "fp8": e4m3 without infinities, up to 448 (Micikevicius et al., FP8 formats for deep learning, 2022).
  std::string_view name;
  int bits;
  std::span<const float> values;  // of each code, 2^bits; NaN where a code stands for no number

  int codes_per_word() const { return 32 / bits; }
  /// Returns the position of the lowest bit of code `i` of a word.
  int shift(int i) const { return bits == 8 ? 8 * i : 4 * (i / 2) + 16 * (i % 2); }
  /// Returns code `i` of the word.
  uint32_t code(uint32_t word, int i) const { return word >> shift(i) & ((1U << bits) - 1); }
  /// Returns the code of the nearest number; of two that are equally near, the even one. Numbers beyond the
  /// largest get its code, and zeros of either sign the code of 0. Requires: x is not NaN.
  uint32_t nearest(float x) const;
};

/// Writes the numbers of the codes in the words that begin at `words`. Requires: the number of elements is a
/// multiple of codes_per_word().
void unpack(const PackedFormat& format, const uint8_t* words, std::span<float> to);
/// Writes the words of `codes`, which are each below 2^bits. Requires: as for unpack.
void pack(const PackedFormat& format, std::span<const uint8_t> codes, uint8_t* words);

/// Returns all formats.
std::span<const PackedFormat> packed_formats();
/// Returns the format with this name; null if there is none.
const PackedFormat* find_packed_format(std::string_view name);

}  // namespace smelt
