// Numbers and texts as Python's literals, int() and float() read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smelt::templates {

/// Replaces "\r\n" and "\r" by "\n".
std::string normalize_lines(std::string_view text);
/// Replaces the escapes of a text literal, whose line ends it normalizes. Throws TemplateError if one is not
/// valid, or makes half of a surrogate pair.
std::string unescape(std::string_view text);

std::string without_underscores(std::string text);
/// Reads decimal digits, or 0x, 0o or 0b and digits; nothing if the number has more than 63 bits.
std::optional<int64_t> parse_integer_literal(const std::string& text);
/// Requires: a decimal number of C++. Returns infinity if it is too large.
double parse_real(const std::string& text);

enum class Parsed { value, invalid, too_large };
/// int(text, base): white space, a sign, underscores and prefixes are allowed. `base` is 0 or 2 to 36.
Parsed parse_int(std::string_view text, int base, int64_t& out);
/// float(text). Returns whether the text is a number.
bool parse_float(std::string_view text, double& out);

}  // namespace smelt::templates
