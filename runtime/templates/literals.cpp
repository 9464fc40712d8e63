#include "runtime/templates/literals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "runtime/templates/characters.h"
#include "runtime/templates/template_error.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

int digit_of(char c) {
  const char low = c | 0x20;
  return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'z' ? low - 'a' + 10 : 99;
}

/// Reads `count` hexadecimal digits at `at`.
uint32_t hexadecimal(std::string_view text, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    const int digit = at + i < text.size() ? digit_of(text[at + i]) : 99;
    if (digit > 15) fault(Fault::syntax, "an escape of a text has too few digits: expected {}", count);
    value = value * 16 + digit;
  }
  return value;
}

void append_code_point(std::string& out, uint32_t code) {
  if (code > 0x10FFFF) fault(Fault::syntax, "an escape of a text exceeds \\U0010ffff");
  if (code >= 0xD800 && code < 0xE000)
    unsupported("the escape \\u{:04x} of a text is half of a surrogate pair", code);
  append_utf8(out, code);
}

/// Appends the octal escape at `at`, and returns the place after it.
size_t append_octal(std::string& out, std::string_view text, size_t at) {
  uint32_t code = 0;
  const size_t end = std::min(text.size(), at + 3);
  while (at < end && text[at] >= '0' && text[at] <= '7') code = code * 8 + (text[at++] - '0');
  append_code_point(out, code);
  return at;
}

/// A backslash before a code point above 127 stays, and the code point becomes text: Jinja's rule.
size_t append_spelled(std::string& out, std::string_view text, size_t at) {
  const auto [c, bytes] = code_point_at(text, at);
  const auto code = static_cast<uint32_t>(c);
  const char* form = code < 0x100 ? "x{:02x}" : code < 0x10000 ? "u{:04x}" : "U{:08x}";
  out += "\\" + fmt::format(fmt::runtime(form), code);
  return at + bytes;
}

/// Appends the escape whose letter is at `at`, and returns the place after it.
size_t append_unescaped(std::string& out, std::string_view text, size_t at) {
  static constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
  const char c = text[at];
  if (c == '\n') return at + 1;
  if (c == 'N') unsupported("escapes \\N{{...}} of texts are not supported: write the character");
  if (c >= '0' && c <= '7') return append_octal(out, text, at);
  if (const size_t i = kFrom.find(c); i != std::string_view::npos) {
    out += kTo[i];
    return at + 1;
  }
  if (const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0) {
    append_code_point(out, hexadecimal(text, at + 1, digits));
    return at + 1 + digits;
  }
  if (static_cast<unsigned char>(c) >= 0x80) return append_spelled(out, text, at);
  out += '\\';
  out += c;
  return at + 1;
}

/// Removes white space at both ends, and replaces decimal digits of all scripts by those of ASCII.
std::string plain_number(std::string_view text) {
  std::u32string points = decode(text);
  while (!points.empty() && has(points.back(), kSpace)) points.pop_back();
  const auto first = std::ranges::find_if(points, [](char32_t c) { return !has(c, kSpace); });
  std::string out;
  for (auto c = first; c != points.end(); ++c) {
    append_utf8(out, *c > 127 && has(*c, kDecimal) ? U'0' + digit_value(*c) : *c);
  }
  return out;
}

/// Whether every underscore is between two characters that `part` accepts.
template <typename Part>
bool remove_underscores(std::string& text, Part part) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') continue;
    if (i == 0 || i + 1 == text.size() || !part(text[i - 1]) || !part(text[i + 1])) return false;
  }
  text = without_underscores(std::move(text));
  return true;
}

int prefixed_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  const char letter = text[1] | 0x20;
  return letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
}

Parsed digits_value(std::string_view digits, int base, bool negative, int64_t& out) {
  if (digits.empty()) return Parsed::invalid;
  const std::string signed_digits = (negative ? "-" : "") + std::string(digits);
  const auto [end, error] =
      std::from_chars(signed_digits.data(), signed_digits.data() + signed_digits.size(), out, base);
  if (end != signed_digits.data() + signed_digits.size() || digits[0] == '-') return Parsed::invalid;
  return error == std::errc() ? Parsed::value : Parsed::too_large;
}

}  // namespace

std::string normalize_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\r') {
      out += text[at];
    } else {
      out += '\n';
      if (at + 1 < text.size() && text[at + 1] == '\n') ++at;
    }
  }
  return out;
}

std::string unescape(std::string_view source) {
  const std::string text = normalize_lines(source);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at++];
    } else {
      at = append_unescaped(out, text, at + 1);
    }
  }
  return out;
}

std::string without_underscores(std::string text) {
  std::erase(text, '_');
  return text;
}

std::optional<int64_t> parse_integer_literal(const std::string& text) {
  int64_t value = 0;
  const int base = prefixed_base(text);
  if (digits_value(std::string_view(text).substr(base ? 2 : 0), base ? base : 10, false, value) !=
      Parsed::value) {
    return std::nullopt;
  }
  return value;
}

double parse_real(const std::string& text) {
  double value = 0;
  const auto error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  if (error != std::errc::result_out_of_range) return value;
  // from_chars does not say on which side the number is out of range: large ones have no exponent below 0.
  return text.find("e-") == std::string::npos && text.find("E-") == std::string::npos
             ? std::copysign(std::numeric_limits<double>::infinity(), text[0] == '-' ? -1 : 1)
             : std::copysign(0.0, text[0] == '-' ? -1 : 1);
}

Parsed parse_int(std::string_view text, int base, int64_t& out) {
  std::string number = plain_number(text);
  const bool negative = !number.empty() && number[0] == '-';
  if (negative || (!number.empty() && number[0] == '+')) number.erase(0, 1);
  const int prefix = prefixed_base(number);
  const bool prefixed = prefix && (base == 0 || base == prefix);
  const int radix = base ? base : prefixed ? prefix : 10;
  if (prefixed) number.erase(0, 2);
  if (prefixed && !number.empty() && number[0] == '_') number.erase(0, 1);
  if (!remove_underscores(number, [](char c) { return digit_of(c) < 36; })) return Parsed::invalid;
  const bool zero = number.find_first_not_of('0') == std::string::npos;
  if (base == 0 && !prefixed && number.size() > 1 && number[0] == '0' && !zero) return Parsed::invalid;
  return digits_value(number, radix, negative, out);
}

bool parse_float(std::string_view text, double& out) {
  std::string number = plain_number(text);
  if (!remove_underscores(number, [](char c) { return c >= '0' && c <= '9'; })) return false;
  const bool negative = !number.empty() && number[0] == '-';
  if (negative || (!number.empty() && number[0] == '+')) number.erase(0, 1);
  if (number.empty() || number[0] == '-' || number[0] == '+') return false;
  std::ranges::transform(number, number.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; });
  if (number == "inf" || number == "infinity") {
    out = std::numeric_limits<double>::infinity();
  } else if (number == "nan") {
    out = std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out);
    if (end != number.data() + number.size() ||
        !(number[0] == '.' || (number[0] >= '0' && number[0] <= '9'))) {
      return false;
    }
    if (error == std::errc::result_out_of_range) out = parse_real(number);
  }
  if (negative) out = -out;
  return true;
}

}  // namespace smelt::templates
