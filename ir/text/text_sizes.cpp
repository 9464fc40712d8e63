// Sizes as text: sums of products of numbers, symbols, ceil_div(x, n), floor_div(x, n) and
// round_up(x, n).
#include <algorithm>

#include "ir/text/text_parser.h"

namespace smelt {
namespace {

constexpr int kDeepest = 32;
constexpr size_t kMostTextTerms = 256, kMostTextFactors = 24;

using Division = Dim (*)(const Dim&, int64_t);
std::optional<Division> division_named(std::string_view name) {
  if (name == "ceil_div") return ceil_div;
  if (name == "floor_div") return floor_div;
  if (name == "round_up") return round_up;
  return std::nullopt;
}

}  // namespace

Dim TextParser::dim() { return dim_sum(); }

Dim TextParser::dim(const Token& at, const std::function<Dim()>& f) {
  Dim result = lexer.at(at, f);
  const std::vector<Dim::Term> terms = result.terms();
  if (terms.size() > kMostTextTerms || std::any_of(terms.begin(), terms.end(), [](const Dim::Term& term) {
        return term.atoms.size() > kMostTextFactors;
      }))
    lexer.fail_at(at.offset, fmt::format("a size of more than {} terms or {} factors", kMostTextTerms,
                                         kMostTextFactors));
  return result;
}

Dim TextParser::dim_sum() {
  Dim result = dim_product();
  for (;;) {
    const Token at = lexer.peek();
    if (lexer.accept("+")) {
      const Dim other = dim_product();
      result = dim(at, [&] { return result + other; });
    } else if (lexer.accept("-")) {
      const Dim other = dim_product();
      result = dim(at, [&] { return result - other; });
    } else {
      return result;
    }
  }
}

Dim TextParser::dim_product() {
  Dim result = dim_factor();
  for (Token at = lexer.peek(); lexer.accept("*"); at = lexer.peek()) {
    const Dim other = dim_factor();
    result = dim(at, [&] { return result * other; });
  }
  return result;
}

Dim TextParser::dim_factor() {
  if (depth_ == kDeepest) lexer.fail_at(lexer.peek().offset, "a size nested too deeply");
  ++depth_;
  const Token at = lexer.peek();
  Dim result;
  if (lexer.accept("-")) {
    const Dim inner = dim_factor();
    result = dim(at, [&] { return Dim(0) - inner; });
  } else if (lexer.accept("(")) {
    result = dim_sum();
    lexer.expect(")");
  } else if (at.kind == Token::Kind::number) {
    result = integer("a whole number in a size");
  } else if (division_named(at.text) && lexer.peek(1).is("(")) {
    result = dim_call(*division_named(lexer.next().text));
  } else {
    result = symbol(at);
  }
  --depth_;
  return result;
}

Dim TextParser::dim_call(Division division) {
  lexer.expect("(");
  const Token at = lexer.peek();
  const Dim inner = dim_sum();
  lexer.expect(",");
  const int64_t divisor = integer("a constant divisor");
  lexer.expect(")");
  return dim(at, [&] { return division(inner, divisor); });
}

Dim TextParser::symbol(const Token& token) {
  if (stand_in)
    if (auto other = stand_in(token)) {
      lexer.next();
      return *other;
    }
  if (token.kind != Token::Kind::identifier)
    lexer.expected("a size (a number, a symbol, or a sum of products)");
  if (known_symbols && !known_symbols->declared(token.text))
    lexer.fail_at(token.offset, fmt::format("symbol {} is not declared; write `symbols {} <= LIMIT` above",
                                            describe(token), token.text));
  lexer.next();
  return Dim::symbol(std::string(token.text));
}

}  // namespace smelt
