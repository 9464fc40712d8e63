#include "ir/text/text_parser.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace smelt {
namespace {

constexpr size_t kMostTerms = 256, kMostDims = 16;

template <typename T>
bool read(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_fraction(const Token& token) {
  return token.kind == Token::Kind::number && token.text.find_first_of(".eE") != std::string_view::npos;
}

bool is_operator(const Token& token) { return token.is("+") || token.is("-") || token.is("*"); }

}  // namespace

// ---- numbers and words

int64_t TextParser::integer(std::string_view what) {
  const bool negative = lexer.accept("-");
  const Token token = lexer.expect(Token::Kind::number, what);
  int64_t value = 0;
  if (!read((negative ? "-" : "") + std::string(token.text), value))
    lexer.fail_at(token.offset,
                  fmt::format("expected {} of at most 64 bits, found {}", what, describe(token)));
  return value;
}

int32_t TextParser::small_integer(std::string_view what) {
  const Token token = lexer.peek();
  const int64_t value = integer(what);
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
    lexer.fail_at(token.offset, fmt::format("expected {} of at most 32 bits, found {}", what, value));
  return static_cast<int32_t>(value);
}

double TextParser::number(std::string_view what) {
  const double sign = lexer.accept("-") ? -1 : 1;
  if (lexer.peek().is_special_number())
    return lexer.next().text == "inf" ? sign * std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::quiet_NaN();
  const Token token = lexer.expect(Token::Kind::number, what);
  double value = 0;
  if (!read(token.text, value))
    lexer.fail_at(token.offset, fmt::format("{} is outside the range of a double", describe(token)));
  return sign * value;
}

bool TextParser::boolean() {
  if (lexer.accept_word("true")) return true;
  if (lexer.accept_word("false")) return false;
  lexer.expected("true or false");
}

std::string TextParser::string(std::string_view what) {
  return unescape(lexer.expect(Token::Kind::string, what));
}

std::string TextParser::name(std::string_view what) {
  if (lexer.peek().kind == Token::Kind::string) return string(what);
  return std::string(lexer.expect(Token::Kind::identifier, what).text);
}

std::string TextParser::graph_name() {
  lexer.expect("@");
  return name("a name after '@'");
}

std::vector<int64_t> TextParser::integers() {
  std::vector<int64_t> result;
  lexer.expect("[");
  list("]", [&] { result.push_back(integer()); });
  return result;
}

std::vector<std::string> TextParser::strings() {
  std::vector<std::string> result;
  lexer.expect("[");
  list("]", [&] { result.push_back(string()); });
  return result;
}

void TextParser::fields(const std::function<void(const Token& key)>& field) {
  list("}", [&] {
    const Token key = lexer.expect(Token::Kind::identifier, "the name of an attribute");
    lexer.expect("=");
    field(key);
  });
}

void TextParser::unknown_field(const Token& key, std::string_view expected) {
  lexer.fail_at(key.offset, fmt::format("expected one of {}, found {}", expected, describe(key)));
}

// ---- types

Shape TextParser::shape() {
  Shape result;
  lexer.expect("[");
  list("]", [&] { result.push_back(dim()); });
  return result;
}

std::vector<int64_t> TextParser::constant_shape() {
  std::vector<int64_t> result;
  for (int64_t size : integers()) {
    if (size < 0) lexer.expected(fmt::format("sizes of at least 0 (not {}) before this", size));
    result.push_back(size);
  }
  return result;
}

DType TextParser::dtype() {
  const Token& token = lexer.peek();
  const auto type = token.kind == Token::Kind::identifier ? parse_dtype(token.text) : std::nullopt;
  if (!type) lexer.expected("an element type (f32, bf16, f16, f64, i32, i64, u16, u8, bool, i8)");
  lexer.next();
  return *type;
}

Type TextParser::type() {
  const Token at = lexer.peek();
  const DType element = dtype();
  Type result{element, shape()};
  check_size(at, result);
  return result;
}

/// Keeps the polynomial of a type's element count small, whatever is written.
void TextParser::check_size(const Token& at, const Type& type) {
  size_t terms = 1;
  for (const Dim& dim : type.shape)
    terms = std::min(terms * std::max<size_t>(dim.terms().size(), 1), kMostTerms + 1);
  if (type.shape.size() > kMostDims || terms > kMostTerms)
    lexer.fail_at(at.offset, fmt::format("a type of more than {} dims, or of a size of more than {} terms",
                                         kMostDims, kMostTerms));
}

std::optional<Layout> TextParser::layout() {
  if (!lexer.accept("@")) return std::nullopt;
  Layout result;
  result.buffer = small_integer("the number of a buffer");
  lexer.expect("[");
  result.offset = dim();
  if (lexer.accept(";"))
    list("]", [&] { result.strides.push_back(dim()); });
  else
    lexer.expect("]");
  return result;
}

std::vector<std::string> TextParser::axes() {
  std::vector<std::string> names;
  if (lexer.accept("-")) return names;
  do names.emplace_back(lexer.expect(Token::Kind::identifier, "an axis of the mesh, or '-'").text);
  while (lexer.accept("+"));
  return names;
}

std::optional<TextParser::NamedSharding> TextParser::sharding_names() {
  if (!lexer.accept_word("on")) return std::nullopt;
  NamedSharding result;
  lexer.expect("[");
  list("]", [&] { result.dims.push_back(axes()); });
  if (!lexer.accept_word("partial")) return result;
  lexer.expect("[");
  list("]", [&] {
    result.partial.emplace_back(lexer.expect(Token::Kind::identifier, "an axis of the mesh").text);
  });
  return result;
}

// ---- attributes

bool TextParser::starts_initializer() const {
  const Token& token = lexer.peek();
  const bool known = token.is_word("normal") || token.is_word("uniform") || token.is_word("value");
  return known && lexer.peek(1).is("(");
}

Initializer TextParser::initializer() {
  if (!starts_initializer()) lexer.expected("an initializer: value(x), normal(deviation) or uniform(limit)");
  const std::string_view kind = lexer.next().text;
  Initializer result;
  result.kind = kind == "value"    ? Initializer::Kind::value
                : kind == "normal" ? Initializer::Kind::normal
                                   : Initializer::Kind::uniform;
  lexer.expect("(");
  result.a = number();
  if (lexer.accept(",")) {
    const Token at = lexer.peek();
    const int64_t seed = integer("a seed");
    if (seed < 0 || seed > std::numeric_limits<uint32_t>::max())
      lexer.fail_at(at.offset, fmt::format("expected a seed in [0, 2^32), found {}", seed));
    result.seed = static_cast<uint32_t>(seed);
  }
  lexer.expect(")");
  return result;
}

std::vector<double> TextParser::floats() {
  std::vector<double> result;
  lexer.expect("[");
  list("]", [&] { result.push_back(number()); });
  return result;
}

/// [1, 2] are integers; one float among them makes all of them floats.
Attribute TextParser::number_list() {
  bool fraction = false;
  for (size_t i = 1; !fraction && !lexer.peek(i).is("]") && lexer.peek(i).kind != Token::Kind::end; ++i)
    fraction = is_fraction(lexer.peek(i)) || lexer.peek(i).is_special_number();
  if (fraction) return floats();
  return integers();
}

Attribute TextParser::attribute() {
  const Token at = lexer.peek();
  if (at.is_word("true") || at.is_word("false")) return boolean();
  if (at.kind == Token::Kind::string) return string();
  if (at.is("[")) return number_list();
  if (at.is_word("f") && lexer.peek(1).is("[")) return lexer.next(), floats();
  if (starts_initializer()) return initializer();
  if (at.is_word("dim") && lexer.peek(1).is("(")) {
    lexer.next(), lexer.next();
    Dim inner = dim();
    lexer.expect(")");
    return inner;
  }
  const size_t sign = at.is("-") ? 1 : 0;
  const Token &first = lexer.peek(sign), &second = lexer.peek(sign + 1);
  if (is_fraction(first) || first.is_special_number()) return number();
  if (first.kind == Token::Kind::number && !is_operator(second)) return integer();
  if (first.kind != Token::Kind::number && first.kind != Token::Kind::identifier && !first.is("("))
    lexer.expected("a number, true, false, a string, a list, a size or an initializer");
  Dim size = dim();
  if (const auto constant = size.constant()) return *constant;
  return size;
}

}  // namespace smelt
