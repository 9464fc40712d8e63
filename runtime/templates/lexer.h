// Lexer: divides a template into tokens, with Jinja's rules for white space next to tags (trim_blocks and
// lstrip_blocks are on).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::templates {

/// Kind of a token.
enum class TokenKind {
  data,         // text outside of tags
  print_begin,  // {{
  print_end,    // }}
  block_begin,  // {%
  block_end,    // %}
  name,         // an identifier or keyword
  text,         // a string literal
  integer,
  real,
  sign,  // an operator or punctuation, such as "==" or "("
  end
};

/// A token of a template.
struct Token {
  TokenKind kind;
  int line;             // from 1
  std::string text;     // of data, names and signs; for a string literal: its value, with escapes replaced
  int64_t integer = 0;  // value of an integer
  double real = 0;      // value of a real
};

/// Returns the tokens; the last one is TokenKind::end. Throws TemplateError (syntax, unsupported) with the
/// line.
std::vector<Token> tokenize(std::string_view source);

/// Describes a token for messages.
std::string describe(const Token& token);

}  // namespace smelt::templates
