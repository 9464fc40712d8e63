#include "runtime/templates/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "runtime/templates/characters.h"
#include "runtime/templates/literals.h"
#include "runtime/templates/template_error.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

/// Line ends become "\n", and one at the end of the template is dropped.
std::string normalized(std::string_view source) {
  std::string out = normalize_lines(source);
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) read_data();
    push(TokenKind::end);
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail_here(const std::string& message) {
    throw TemplateError(Fault::syntax, message, line_);
  }
  bool here(std::string_view text, size_t from) const {
    return source_.compare(from, text.size(), text) == 0;
  }
  char peek(size_t from) const { return from < source_.size() ? source_[from] : '\0'; }

  Token& push(TokenKind kind, std::string text = {}) {
    tokens_.push_back({kind, line_, std::move(text)});
    return tokens_.back();
  }

  void advance(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + at_, source_.begin() + to, '\n'));
    line_starts_ = to > at_ && source_[to - 1] == '\n';
    at_ = to;
  }

  size_t skip_space(size_t from) const {
    while (from < source_.size()) {
      const CodePoint c = code_point_at(source_, from);
      if (!has(c.value, kSpace)) break;
      from += c.bytes;
    }
    return from;
  }

  size_t space_begin(size_t begin, size_t end) const {
    while (end > begin) {
      const CodePoint c = code_point_before(source_, end);
      if (!has(c.value, kSpace)) break;
      end -= c.bytes;
    }
    return end;
  }

  /// The place after {% raw %} or {% endraw %} if it begins at `from`, else 0.
  size_t raw_end(size_t from, std::string_view word, bool closing) const {
    if (!here("{%", from)) return 0;
    size_t to = from + 2;
    if (peek(to) == '-' || peek(to) == '+') ++to;
    to = skip_space(to);
    if (!here(word, to)) return 0;
    to = skip_space(to + word.size());
    return tag_end(to, "%}", closing, closing);
  }

  /// The place after a tag's end that begins at `from`, with the white space that it removes, else 0.
  size_t tag_end(size_t from, std::string_view end, bool trims, bool plus) const {
    if (peek(from) == '-' && here(end, from + 1)) return skip_space(from + 1 + end.size());
    if (plus && peek(from) == '+' && here(end, from + 1)) return from + 1 + end.size();
    if (!here(end, from)) return 0;
    const size_t to = from + end.size();
    return trims && peek(to) == '\n' ? to + 1 : to;
  }

  /// Emits the text before a tag at `tag`; the sign after the tag's two characters removes white space.
  void push_data(size_t tag, bool print) {
    size_t end = tag;
    const char sign = peek(tag + 2);
    if (sign == '-') {
      end = space_begin(at_, tag);
    } else if (sign != '+' && !print) {
      const size_t line = source_.rfind('\n', tag - 1);
      const bool found = tag > at_ && line != std::string::npos && line >= at_;
      const size_t begin = found ? line + 1 : at_;
      if ((found || line_starts_) && begin < tag && space_begin(begin, tag) == begin) end = begin;
    }
    if (end > at_) push(TokenKind::data, source_.substr(at_, end - at_));
    advance(tag);
  }

  static bool opens(char c) { return c == '{' || c == '%' || c == '#'; }

  size_t find_tag() const {
    for (size_t from = at_; (from = source_.find('{', from)) != std::string::npos; ++from) {
      if (opens(peek(from + 1))) return from;
    }
    return std::string::npos;
  }

  void read_data() {
    const size_t tag = find_tag();
    if (tag == std::string::npos) {
      push(TokenKind::data, source_.substr(at_));
      return advance(source_.size());
    }
    const char kind = source_[tag + 1];
    push_data(tag, kind == '{');
    if (const size_t raw = raw_end(tag, "raw", false)) return read_raw(raw);
    const bool sign = peek(tag + 2) == '-' || peek(tag + 2) == '+';
    advance(tag + (sign ? 3 : 2));
    if (kind == '#') return read_comment();
    read_tag(kind == '{');
  }

  void read_comment() {
    for (size_t from = at_; from < source_.size(); ++from) {
      if (const size_t end = tag_end(from, "#}", true, true)) return advance(end);
    }
    fail_here("the comment has no end: expected '#}'");
  }

  void read_raw(size_t begin) {
    advance(begin);
    for (size_t from = at_; (from = source_.find("{%", from)) != std::string::npos; ++from) {
      if (const size_t end = raw_end(from, "endraw", true)) {
        push_data(from, false);
        return advance(end);
      }
    }
    fail_here("the raw block has no end: expected '{% endraw %}'");
  }

  void read_tag(bool print) {
    push(print ? TokenKind::print_begin : TokenKind::block_begin);
    std::string open;  // brackets that are open
    while (at_ < source_.size()) {
      const size_t end = open.empty() ? tag_end(at_, print ? "}}" : "%}", !print, !print) : 0;
      if (end) {
        push(print ? TokenKind::print_end : TokenKind::block_end);
        return advance(end);
      }
      read_token(open);
    }
  }

  void read_token(std::string& open) {
    const CodePoint c = code_point_at(source_, at_);
    if (has(c.value, kSpace)) return advance(skip_space(at_));
    if (digit(source_[at_])) return read_number();
    if (c.value == '_' || has(c.value, kAlpha | kNumeric | kNamePart)) return read_name();
    if (c.value == '\'' || c.value == '"') return read_text(source_[at_]);
    read_sign(open);
  }

  /// The end of digits that single underscores may divide.
  size_t digits_end(size_t from) const {
    while (digit(peek(from)) || (peek(from) == '_' && digit(peek(from + 1)) && digit(peek(from - 1)))) ++from;
    return from;
  }

  /// The end of a float that begins at at_, or 0.
  size_t real_end() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return 0;
    const size_t whole = digits_end(at_);
    const size_t end = peek(whole) == '.' && digit(peek(whole + 1)) ? digits_end(whole + 1) : whole;
    const size_t power = peek(end) == 'e' || peek(end) == 'E' ? end + 1 : 0;
    const size_t first = power && (peek(power) == '+' || peek(power) == '-') ? power + 1 : power;
    if (power && digit(peek(first))) return digits_end(first);
    return end > whole ? end : 0;
  }

  void read_number() {
    if (const size_t end = real_end()) {
      Token& token = push(TokenKind::real);
      token.real = parse_real(without_underscores(source_.substr(at_, end - at_)));
      return advance(end);
    }
    const size_t end = integer_end();
    const auto value = parse_integer_literal(without_underscores(source_.substr(at_, end - at_)));
    if (!value) {
      throw TemplateError(Fault::unsupported, "an integer has more than 64 bits: use a smaller one", line_);
    }
    push(TokenKind::integer).integer = *value;
    advance(end);
  }

  static bool in_base(char c, int base) {
    const char low = c | 0x20;
    return base == 16 ? digit(c) || (low >= 'a' && low <= 'f') : c >= '0' && c < '0' + base;
  }

  size_t integer_end() const {
    if (source_[at_] != '0') return digits_end(at_);
    const char letter = peek(at_ + 1) | 0x20;
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    const auto part = [&](size_t from) { return in_base(peek(from + (peek(from) == '_')), base ? base : 1); };
    size_t to = at_ + (base ? 2 : 1);
    if (base && !part(to)) return at_ + 1;
    while (part(to)) to += 1 + (peek(to) == '_');
    return to;
  }

  void read_name() {
    size_t to = at_;
    bool valid = true;
    while (to < source_.size()) {
      const CodePoint c = code_point_at(source_, to);
      if (c.value != '_' && !has(c.value, kAlpha | kNumeric | kNamePart)) break;
      valid &= c.value == '_' || has(c.value, to == at_ ? kNameStart : kNamePart);
      to += c.bytes;
    }
    if (!valid) fail_here("a name has a character that names cannot have");
    push(TokenKind::name, source_.substr(at_, to - at_));
    advance(to);
  }

  void read_text(char quote) {
    size_t to = at_ + 1;
    while (to < source_.size() && source_[to] != quote) to += source_[to] == '\\' ? 2 : 1;
    if (to >= source_.size()) fail_here(fmt::format("a text has no end: expected {}", quote));
    std::string text;
    try {
      text = unescape(std::string_view(source_).substr(at_ + 1, to - at_ - 1));
    } catch (const TemplateError& error) {
      throw TemplateError(error.fault(), error.what(), line_);
    }
    push(TokenKind::text, std::move(text));
    advance(to + 1);
  }

  void read_sign(std::string& open) {
    static constexpr std::string_view kLong[] = {"//", "**", "==", "!=", ">=", "<="};
    const auto sign = std::ranges::find_if(kLong, [&](std::string_view s) { return here(s, at_); });
    const std::string text = sign != std::end(kLong) ? std::string(*sign) : source_.substr(at_, 1);
    if (text.size() == 1 && std::string_view("+-/*%~[](){}><=.:|,;").find(text) == std::string_view::npos) {
      fail_here(fmt::format("unexpected character {:?}", text));
    }
    balance(open, text[0]);
    push(TokenKind::sign, text);
    advance(at_ + text.size());
  }

  void balance(std::string& open, char c) {
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c != ')' && c != ']' && c != '}') return;
    if (open.empty()) fail_here(fmt::format("unexpected '{}'", c));
    if (open.back() != c) fail_here(fmt::format("unexpected '{}', expected '{}'", c, open.back()));
    open.pop_back();
  }

  std::string source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // the last match ended a line, or the template begins here
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

std::string describe(const Token& token) {
  static constexpr std::string_view kNames[] = {
      "text of the template",   "'{{'", "'}}'", "'{%'", "'%}'", "", "a text", "an integer", "a float", "",
      "the end of the template"};
  const bool named = token.kind == TokenKind::name || token.kind == TokenKind::sign;
  return named ? "'" + token.text + "'" : std::string(kNames[static_cast<int>(token.kind)]);
}

}  // namespace smelt::templates
