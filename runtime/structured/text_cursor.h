// A position in a text of UTF-8, for parsers of expressions and grammars.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::structured {

/// A position in a text. Functions throw Error (invalid_argument) with the name of the text and the number of
/// the byte if the text does not continue as required.
class TextCursor {
 public:
  TextCursor(std::string_view text, std::string_view name) : text_(text), name_(name) {
    if (!is_utf8(text)) smelt::fail("{}: the text is not UTF-8", name);
  }

  bool at_end() const { return at_ == text_.size(); }
  size_t position() const { return at_; }
  void set_position(size_t at) { at_ = at; }
  /// Returns the next byte; 0 at the end.
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool starts_with(std::string_view text) const { return text_.substr(at_).starts_with(text); }
  bool take(std::string_view text) {
    const bool is_next = starts_with(text);
    if (is_next) at_ += text.size();
    return is_next;
  }
  char32_t take_code_point() {
    if (at_end()) fail("ends too early");
    const CodePoint c = code_point_at(text_, at_);
    at_ += c.bytes;
    return c.value;
  }
  /// Takes exactly `digits` hexadecimal digits.
  char32_t take_hex(size_t digits) {
    char32_t value = 0;
    for (size_t i = 0; i < digits; ++i) {
      const int digit = hex_value(peek());
      if (digit < 0) fail("expected {} hexadecimal digits", digits);
      value = value * 16 + static_cast<char32_t>(digit);
      ++at_;
    }
    return value;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  /// Takes a decimal number of at most `most`.
  uint32_t take_number(uint32_t most) {
    if (!is_digit(peek())) fail("expected a number");
    uint64_t value = 0;
    for (; is_digit(peek()); ++at_) {
      value = value * 10 + static_cast<uint64_t>(peek() - '0');
      if (value > most) fail("expected a number of at most {}", most);
    }
    return static_cast<uint32_t>(value);
  }

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    smelt::fail("{}, byte {}: {}", name_, at_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  static int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  }

  std::string_view text_;
  std::string name_;
  size_t at_ = 0;
};

}  // namespace smelt::structured
