// fail_broken_json: the first place at which a text is no JSON, by the grammar of RFC 8259.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>
#include <string>

#include "runtime/base/error.h"
#include "runtime/system/file_kind.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

constexpr std::string_view kValue = "a value (an object, a list, a string, a number, true, false or null)";

/// Parses a document; every function except skip() returns false once the text at at() differs from
/// expected().
class Grammar {
 public:
  /// A byte order mark may come first.
  explicit Grammar(std::string_view text) : text_(text), at_(text.starts_with("\xEF\xBB\xBF") ? 3 : 0) {}

  bool document() {
    if (!value()) return false;
    skip();
    return at_ == text_.size() || expect("the end of the text");
  }
  size_t at() const { return at_; }
  const std::string& expected() const { return expected_; }

 private:
  bool expect(std::string_view what) {
    expected_ = what;
    return false;
  }
  int peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }
  bool take(char c) {
    const bool found = peek() == c;
    at_ += found;
    return found;
  }
  void skip() {
    while (take(' ') || take('\t') || take('\n') || take('\r')) continue;
  }

  /// Without recursion: the text may be nested as deep as it is long.
  bool value() {
    std::string closers;
    for (;;) {
      skip();
      if (take('{')) {
        closers += '}';
        if (skip(); peek() != '}') {
          if (!key()) return false;
          continue;
        }
      } else if (take('[')) {
        closers += ']';
        if (skip(); peek() != ']') continue;
      } else if (!scalar()) {
        return false;
      }
      for (skip(); !closers.empty() && take(closers.back()); skip()) closers.pop_back();
      if (closers.empty()) return true;
      if (!take(',')) return expect(fmt::format("',' or '{}'", closers.back()));
      if (closers.back() == '}' && !key()) return false;
    }
  }

  bool key() {
    skip();
    if (peek() != '"') return expect("a name in double quotes");
    if (!string()) return false;
    skip();
    return take(':') || expect("':'");
  }

  bool scalar() {
    if (peek() == '"') return string();
    if (peek() == '-' || std::isdigit(peek())) return number();
    for (const std::string_view word : {"true", "false", "null"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return true;
      }
    return expect(kValue);
  }

  bool digits() {
    if (!std::isdigit(peek())) return expect("a digit");
    while (std::isdigit(peek())) ++at_;
    return true;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits();
  }

  bool string() {
    ++at_;
    while (!take('"')) {
      const int c = peek();
      if (c < 0) return expect("the double quote that ends a string");
      if (c < 0x20) return expect("no control character in a string: write it as \\u and four digits");
      if (c == '\\' ? !escape() : !character(c)) return false;
    }
    return true;
  }

  bool escape() {
    ++at_;
    if (take('u')) {
      for (int i = 0; i < 4; ++i, ++at_)
        if (!std::isxdigit(peek())) return expect("four hexadecimal digits behind \\u");
      return true;
    }
    const bool known =
        at_ < text_.size() && std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string::npos;
    if (!known) return expect("one of \" \\ / b f n r t u behind a backslash");
    ++at_;
    return true;
  }

  /// One code point in UTF-8, without overlong forms and surrogates.
  bool character(int lead) {
    const int more = lead < 0x80   ? 0
                     : lead < 0xC2 ? -1
                     : lead < 0xE0 ? 1
                     : lead < 0xF0 ? 2
                     : lead < 0xF5 ? 3
                                   : -1;
    if (more < 0) return expect("UTF-8");
    ++at_;
    for (int i = 0; i < more; ++i, ++at_) {
      const int least = i > 0 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      const int most = i > 0 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
      if (peek() < least || peek() > most) return expect("UTF-8");
    }
    return true;
  }

  std::string_view text_;
  size_t at_;
  std::string expected_;
};

std::string found_at(std::string_view text, size_t at) {
  if (at >= text.size()) return "the end of the text";
  const auto c = static_cast<unsigned char>(text[at]);
  return std::isprint(c) ? fmt::format("'{}'", static_cast<char>(c)) : fmt::format("the byte 0x{:02X}", c);
}

/// "byte 12 (line 2, column 3)"
std::string place_of(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return fmt::format("byte {} (line {}, column {})", at + 1, line, column);
}

/// Returns the four digits of \u at `at`; -1 where there is none.
int unit_at(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\\u") return -1;
  int unit = -1;
  const std::string_view digits = text.substr(at + 2, 4);
  std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  return unit;
}

bool is_half(int unit, int first) { return unit >= first && unit < first + 0x400; }

/// Returns the position of half a surrogate pair in a text that matches the grammar; npos if there is none.
size_t find_half_pair(std::string_view text) {
  constexpr int kHigh = 0xD800, kLow = 0xDC00;
  constexpr size_t kUnit = 6;  // characters
  for (size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at)) {
    const int unit = unit_at(text, at);
    const bool pair = is_half(unit, kHigh) && is_half(unit_at(text, at + kUnit), kLow);
    if (!pair && (is_half(unit, kHigh) || is_half(unit, kLow))) return at;
    at += pair ? 2 * kUnit : unit >= 0 ? kUnit : 2;
  }
  return text.npos;
}

/// The text meets the grammar: the fault is half a surrogate pair, or a number outside the range of double.
[[noreturn]] void fail_on_value(std::string_view text, std::string_view file) {
  const size_t half = find_half_pair(text);
  if (half != text.npos)
    fail_with(Status::invalid_file,
              "'{}': JSON with half a surrogate pair at {}: found {}, expected two of them", file,
              place_of(text, half), text.substr(half, 6));
  fail_with(Status::invalid_file, "'{}': JSON with a number beyond 1.8e308, which no double holds", file);
}

}  // namespace

void fail_broken_json(std::string_view text, std::string_view file) {
  Grammar grammar(text);
  if (grammar.document()) fail_on_value(text, file);
  if (const auto kind = file_kind(std::as_bytes(std::span(text)), file))
    fail_with(Status::invalid_file, "{}", wrong_kind(file, *kind, "JSON"));
  fail_with(Status::invalid_file, "'{}': broken JSON at {}: found {}, expected {}", file,
            place_of(text, grammar.at()), found_at(text, grammar.at()), grammar.expected());
}

}  // namespace smelt
