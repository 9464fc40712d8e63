// Classes of code points as Hugging Face's tokenizers see them, and lower case.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smelt {

/// Bits: a code point may be in several classes. The tables are those of scripts/unicode_tables.py.
enum CharClass : uint16_t {
  kLetter = 1 << 0,       // \p{L}
  kNumber = 1 << 1,       // \p{N}
  kSpace = 1 << 2,        // \s
  kUpperLike = 1 << 3,    // \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}
  kLowerLike = 1 << 4,    // \p{Ll}\p{Lm}\p{Lo}\p{M}
  kWord = 1 << 5,         // \w
  kWhitespace = 1 << 6,   // White_Space
  kNumeric = 1 << 7,      // Nd, Nl, No of the pre-tokenizer of digits
  kPunctuation = 1 << 8,  // ASCII's and Unicode's
  kBertDropped = 1 << 9,  // control characters, as BERT's normalizer sees them
  kAccent = 1 << 10,      // nonspacing marks
  kMark = 1 << 11,
  kDecomposes = 1 << 12,  // has a canonical decomposition
  kDecomposesCompatibly = 1 << 13,
  kCombines = 1 << 14,  // has a combining class
  kExtends = 1 << 15    // continues a grapheme
};

/// All classes of a code point; 0 beyond U+10FFFF.
uint16_t classes_of(char32_t c);
inline bool is(char32_t c, uint16_t classes) { return (classes_of(c) & classes) != 0; }

/// U+0130 becomes two code points, all others one.
std::u32string_view lower_case(char32_t c, char32_t (&place)[2]);
/// Returns a code point of Unicode 14 with the general category and the length in UTF-8 of `c`, Han for Han;
/// `c` itself where Unicode 14 or no version assigns it.
char32_t known_code_point(char32_t c);

}  // namespace smelt
