// Properties of code points, and conversion of case, as Python's `str` defines them (Unicode 14).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smelt::templates {

/// Bits of properties_of. A bit such as kAlpha is the result of the method of Python's `str` with the same
/// name, isalpha(), for one code point.
enum Property : uint16_t {
  kAlpha = 1 << 0,
  kDecimal = 1 << 1,
  kDigit = 1 << 2,
  kNumeric = 1 << 3,
  kSpace = 1 << 4,
  kUpper = 1 << 5,
  kLower = 1 << 6,
  kTitle = 1 << 7,
  kPrintable = 1 << 8,
  kNameStart = 1 << 9,       // begins an identifier
  kNamePart = 1 << 10,       // continues an identifier
  kCaseIgnorable = 1 << 11,  // Unicode's Case_Ignorable; lower() reads it
  kCased = 1 << 12           // Unicode's Cased
};

uint16_t properties_of(char32_t c);
inline bool has(char32_t c, uint16_t properties) { return (properties_of(c) & properties) != 0; }

/// Convert UTF-8, which must be valid, to code points, and back.
std::u32string decode(std::string_view text);
std::string encode(std::u32string_view text);

/// Return the results of the methods of the same names of Python's `str`.
std::u32string upper(std::u32string_view text);
std::u32string lower(std::u32string_view text);
std::u32string title(std::u32string_view text);
std::u32string capitalize(std::u32string_view text);
std::u32string swapcase(std::u32string_view text);
std::u32string casefold(std::u32string_view text);

/// Returns the value, 0 to 9, of a decimal digit of any script. Requires: has(c, kDecimal).
int digit_value(char32_t c);
/// Returns whether str.splitlines() ends a line at `c`.
bool ends_line(char32_t c);

}  // namespace smelt::templates
