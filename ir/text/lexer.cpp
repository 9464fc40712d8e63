#include "ir/text/lexer.h"

#include <algorithm>

namespace smelt {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::string_view kLongSymbols[] = {"->", "<=", "+="};
constexpr std::string_view kSymbols = "(){}[],=:;@#$<>*+-";

/// Reads one token after another; `place` reports errors.
class Scanner {
 public:
  Scanner(std::string_view text, const Lexer& place) : text_(text), place_(place) {}

  Token next() {
    skip_space();
    if (at_ == text_.size()) return {Token::Kind::end, {}, at_};
    const char c = text_[at_];
    if (is_letter(c)) return take(Token::Kind::identifier, is_name);
    if (is_digit(c)) return number();
    if (c == '%') return value();
    if (c == '"') return string();
    return symbol();
  }

 private:
  void skip_space() {
    while (at_ < text_.size()) {
      if (is_space(text_[at_]))
        ++at_;
      else if (text_.substr(at_, 2) == "//")
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        return;
    }
  }

  template <typename Accept>
  Token take(Token::Kind kind, Accept accept) {
    const size_t begin = at_;
    while (at_ < text_.size() && accept(text_[at_])) ++at_;
    return {kind, text_.substr(begin, at_ - begin), begin};
  }

  Token value() {
    const size_t begin = at_++;
    Token token = take(Token::Kind::value, is_name);
    if (token.text.empty()) place_.fail_at(begin, "expected a name after '%'");
    token.offset = begin;
    return token;
  }

  /// Digits, then a fraction and an exponent where they follow.
  Token number() {
    const size_t begin = at_;
    digits();
    if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) ++at_, digits();
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (at_ == text_.size() || !is_digit(text_[at_]))
        place_.fail_at(at_, "expected the digits of an exponent");
      digits();
    }
    if (at_ < text_.size() && is_name(text_[at_])) place_.fail_at(at_, "expected the end of a number");
    return {Token::Kind::number, text_.substr(begin, at_ - begin), begin};
  }

  void digits() {
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  }

  Token string() {
    const size_t begin = at_++;
    for (; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
    if (at_ >= text_.size() || text_[at_] != '"')
      place_.fail_at(begin, "expected a closing '\"' on this line");
    return {Token::Kind::string, text_.substr(begin + 1, at_++ - begin - 1), begin};
  }

  Token symbol() {
    for (std::string_view symbol : kLongSymbols)
      if (text_.substr(at_, symbol.size()) == symbol) {
        at_ += symbol.size();
        return {Token::Kind::symbol, symbol, at_ - symbol.size()};
      }
    if (kSymbols.find(text_[at_]) == std::string_view::npos)
      place_.fail_at(at_, fmt::format("the character {} has no meaning here", printable(text_[at_])));
    ++at_;
    return {Token::Kind::symbol, text_.substr(at_ - 1, 1), at_ - 1};
  }

  static std::string printable(char c) {
    return c >= 32 && c < 127 ? fmt::format("'{}'", c)
                              : fmt::format("0x{:02x}", static_cast<unsigned char>(c));
  }

  std::string_view text_;
  const Lexer& place_;
  size_t at_ = 0;
};

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// The line around `offset`, cut to what fits a terminal, and the column of the offset in it.
struct Excerpt {
  std::string line;
  size_t column;
};

Excerpt excerpt(std::string_view text, size_t begin, size_t offset) {
  constexpr size_t kWidth = 120;
  size_t end = std::min(text.find('\n', begin), text.size());
  if (end > begin && text[end - 1] == '\r') --end;
  if (offset - begin > kWidth * 3 / 4) begin = offset - kWidth / 2;
  Excerpt result{std::string(text.substr(begin, std::min(std::max(end, begin) - begin, kWidth))),
                 offset - begin};
  for (char& c : result.line)
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  return result;
}

}  // namespace

std::string describe(const Token& token) {
  constexpr size_t kShown = 40;
  const std::string text(token.text.substr(0, kShown));
  switch (token.kind) {
    case Token::Kind::end:
      return "the end of the text";
    case Token::Kind::value:
      return "%" + text;
    case Token::Kind::string:
      return "\"" + text + "\"";
    default:
      return "'" + text + "'";
  }
}

Lexer::Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {
  Scanner scanner(text, *this);
  do tokens_.push_back(scanner.next());
  while (tokens_.back().kind != Token::Kind::end);
}

const Token& Lexer::peek(size_t offset) const {
  return tokens_[std::min(position_ + offset, tokens_.size() - 1)];
}

const Token& Lexer::next() {
  const Token& token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool Lexer::accept(std::string_view symbol) {
  if (!peek().is(symbol)) return false;
  next();
  return true;
}

bool Lexer::accept_word(std::string_view word) {
  if (!peek().is_word(word)) return false;
  next();
  return true;
}

const Token& Lexer::expect(std::string_view symbol) {
  if (!peek().is(symbol)) expected(fmt::format("'{}'", symbol));
  return next();
}

const Token& Lexer::expect(Token::Kind kind, std::string_view what) {
  if (peek().kind != kind) expected(what);
  return next();
}

void Lexer::expected(std::string_view what) const {
  fail_at(peek().offset, fmt::format("expected {}, found {}", what, describe(peek())));
}

void Lexer::fail_at(size_t offset, std::string_view message) const {
  offset = std::min(offset, text_.size());
  const std::string_view before = text_.substr(0, offset);
  const size_t newline = before.rfind('\n'), begin = newline == std::string_view::npos ? 0 : newline + 1;
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const Excerpt shown = excerpt(text_, begin, offset);
  fail_with(Status::invalid_file, "{}:{}:{}: {}\n{}\n{}^", file_, line, offset - begin + 1, message,
            shown.line, std::string(shown.column, ' '));
}

std::string unescape(const Token& token) {
  std::string result;
  const std::string_view text = token.text;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'x' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      result += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      result += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return result;
}

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\', result += c;
    else if (c == '\n')
      result += "\\n";
    else if (static_cast<unsigned char>(c) < 32)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + "\"";
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_name);
}

}  // namespace smelt
