// Tokens of the text forms. White space and comments (// to the end of the line) only separate them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace smelt {

struct Token {
  enum class Kind : uint8_t { end, identifier, value, number, string, symbol };
  Kind kind = Kind::end;
  std::string_view text;  // of a value without %, of a string without its quotes (escapes as written)
  size_t offset = 0;

  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
  bool is_word(std::string_view word) const { return kind == Kind::identifier && text == word; }
  bool is_special_number() const { return is_word("inf") || is_word("nan"); }
};

/// "')'", "the name 'add'", "the end of the text": for "expected ..., found ...".
std::string describe(const Token& token);

/// Reads the tokens of a text one after another.
class Lexer {
 public:
  /// Throws Error at the first character that begins no token.
  Lexer(std::string_view text, std::string_view file);

  const Token& peek(size_t offset = 0) const;
  const Token& next();
  /// Skips `symbol` (or `word`) if it is the next token.
  bool accept(std::string_view symbol);
  bool accept_word(std::string_view word);
  const Token& expect(std::string_view symbol);
  /// Returns the next token, which must be of `kind`; `what` names it in the message.
  const Token& expect(Token::Kind kind, std::string_view what);

  /// Throws Error with "file:line:column: message", the line, and a caret under the column.
  [[noreturn]] void fail_at(size_t offset, std::string_view message) const;
  [[noreturn]] void expected(std::string_view what) const;
  /// Runs f; rethrows its Error as one at `token`.
  template <typename F>
  auto at(const Token& token, F f) const {
    try {
      return f();
    } catch (const Error& error) {
      fail_at(token.offset, error.what());
    }
  }

 private:
  std::string_view text_, file_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
};

/// Returns the contents of a string token with its escapes (\" \\ \n \t \xHH) resolved.
std::string unescape(const Token& token);
/// Returns "text" in quotes, escaped so that it parses back.
std::string quote(std::string_view text);
/// Returns whether a name needs no quotes: letters, digits, _ and dots, not beginning with a digit.
bool is_identifier(std::string_view text);

}  // namespace smelt
