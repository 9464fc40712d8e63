// Division of a template into tokens, with Jinja's rules for white space next to tags (trim_blocks and
// lstrip_blocks are on).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::templates {

enum class TokenKind {
  data,
  print_begin,
  print_end,
  block_begin,
  block_end,
  name,
  text,
  integer,
  real,
  sign,
  end
};

struct Token {
  TokenKind kind;
  int line;          // from 1
  std::string text;  // of data, names, signs, and of texts after their escapes are replaced
  int64_t integer = 0;
  double real = 0;
};

/// Returns the tokens; the last one is TokenKind::end. Throws TemplateError (syntax, unsupported) with the
/// line.
std::vector<Token> tokenize(std::string_view source);

/// Describes a token for messages.
std::string describe(const Token& token);

}  // namespace smelt::templates
