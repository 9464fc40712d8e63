// Tokens of the text forms of modules, kernels and programs. White space, and comments from // to the end of
// the line, only separate tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace smelt {

/// One token of a text. Its kind `value` is the name of a value, such as %name, and `symbol` is punctuation.
struct Token {
  enum class Kind : uint8_t { end, identifier, value, number, string, symbol };
  Kind kind = Kind::end;
  /// The text without the % of a value and without the quotes of a string, whose escapes are not resolved.
  std::string_view text;
  size_t offset = 0;  // of the first character in the text, in bytes

  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
  bool is_word(std::string_view word) const { return kind == Kind::identifier && text == word; }
  bool is_special_number() const { return is_word("inf") || is_word("nan"); }
};

/// Returns a phrase for messages such as "expected ..., found ...": "')'", "the name 'add'", "the end of the
/// text".
std::string describe(const Token& token);

/// Reads the tokens of a text one after another.
class Lexer {
 public:
  /// Splits the whole text into tokens. Throws Error at the first text that is no token. Both arguments must
  /// outlive the lexer and its tokens, which are views of them.
  Lexer(std::string_view text, std::string_view file);

  /// Returns the token that is `offset` tokens after the next one, without consuming any.
  const Token& peek(size_t offset = 0) const;
  /// Consumes the next token and returns it.
  const Token& next();
  /// Consumes the next token if it is `symbol` (or `word`), and returns whether it is.
  bool accept(std::string_view symbol);
  bool accept_word(std::string_view word);
  /// Consumes the next token and returns it. Throws Error if it is not `symbol`.
  const Token& expect(std::string_view symbol);
  /// Consumes the next token and returns it. Throws Error, "expected `what`", if it is not of `kind`.
  const Token& expect(Token::Kind kind, std::string_view what);

  /// Throws Error with "file:line:column: message", the line, and a caret under the column.
  [[noreturn]] void fail_at(size_t offset, std::string_view message) const;
  /// Throws Error "expected `what`, found ..." at the next token.
  [[noreturn]] void expected(std::string_view what) const;
  /// Returns f(). If f throws Error, throws it again with the position of `token`.
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

/// Returns the characters of a string token, with its escapes (\" \\ \n \t \xHH) resolved.
std::string unescape(const Token& token);
/// Returns `text` in quotes. Characters that need an escape are written as the escapes that unescape()
/// resolves.
std::string quote(std::string_view text);
/// Returns whether a name needs no quotes. Such a name has only letters, digits, _ and dots, and begins with
/// a letter or _.
bool is_identifier(std::string_view text);

}  // namespace smelt
