// Conversion of text to numbers and strings: literals of templates, and Python's int() and float().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smelt::templates {

/// Replaces "\r\n" and "\r" by "\n".
std::string normalize_lines(std::string_view text);
/// Returns the value of a string literal without its quotes: normalizes its line ends and replaces its
/// escapes. Throws TemplateError if an escape is not valid or denotes one half of a surrogate pair.
std::string unescape(std::string_view text);

/// Returns the text without its underscores, which numbers may have between digits.
std::string without_underscores(std::string text);
/// Returns the value of decimal digits, or of 0x, 0o or 0b followed by digits; nothing if it has more than 63
/// bits.
std::optional<int64_t> parse_integer_literal(const std::string& text);
/// Returns the value of a decimal number as C++ writes it; infinity if it is too large. Requires: `text` is
/// such a number.
double parse_real(const std::string& text);

/// Result of parse_int. `too_large`: an integer of more than 64 bits.
enum class Parsed { value, invalid, too_large };
/// Stores int(text, base) in `out`, if the result is Parsed::value. As in Python, white space around the
/// number, a sign, underscores and prefixes such as 0x are allowed. `base` is 2 to 36, or 0: the prefix
/// decides.
Parsed parse_int(std::string_view text, int base, int64_t& out);
/// Stores float(text) in `out`. Returns whether the text is a number.
bool parse_float(std::string_view text, double& out);

}  // namespace smelt::templates
