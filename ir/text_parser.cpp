#include "ir/text_parser.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace smelt {
namespace {

constexpr int kDeepest = 32;
constexpr size_t kMostTerms = 256, kMostFactors = 24, kMostDims = 16, kMostBounds = 256;

template <typename T>
bool read(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_fraction(const Token& token) {
  return token.kind == Token::Kind::number && token.text.find_first_of(".eE") != std::string_view::npos;
}

bool is_special(const Token& token) { return token.is_word("inf") || token.is_word("nan"); }

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
  if (is_special(lexer.peek()))
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

// ---- sizes

Dim TextParser::dim() { return dim_sum(); }

Dim TextParser::dim(const Token& at, const std::function<Dim()>& f) {
  Dim result = lexer.at(at, f);
  const auto& terms = result.terms();
  if (terms.size() > kMostTerms || std::any_of(terms.begin(), terms.end(), [](const Dim::Term& term) {
        return term.atoms.size() > kMostFactors;
      }))
    lexer.fail_at(at.offset,
                  fmt::format("a size of more than {} terms or {} factors", kMostTerms, kMostFactors));
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
  } else if ((at.is_word("ceil_div") || at.is_word("round_up")) && lexer.peek(1).is("(")) {
    result = dim_call(lexer.next().text == "round_up");
  } else {
    result = symbol(at);
  }
  --depth_;
  return result;
}

Dim TextParser::dim_call(bool rounded) {
  lexer.expect("(");
  const Token at = lexer.peek();
  const Dim inner = dim_sum();
  lexer.expect(",");
  const int64_t divisor = integer("a constant divisor");
  lexer.expect(")");
  return dim(at, [&] { return rounded ? round_up(inner, divisor) : ceil_div(inner, divisor); });
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
  if (!type) lexer.expected("an element type (f32, bf16, f16, f64, i32, i64, u16, u8, bool)");
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
    fraction = is_fraction(lexer.peek(i)) || is_special(lexer.peek(i));
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
  if (is_fraction(first) || is_special(first)) return number();
  if (first.kind == Token::Kind::number && !is_operator(second)) return integer();
  if (first.kind != Token::Kind::number && first.kind != Token::Kind::identifier && !first.is("("))
    lexer.expected("a number, true, false, a string, a list, a size or an initializer");
  Dim size = dim();
  if (const auto constant = size.constant()) return *constant;
  return size;
}

// ---- declarations

void TextParser::symbols(Symbols& symbols) {
  do {
    const Token at = lexer.peek();
    std::vector<std::string> factors;
    do {
      const Token& symbol = lexer.expect(Token::Kind::identifier, "the name of a symbol");
      if (symbol.text.find('.') != std::string_view::npos || is_special(symbol))
        lexer.fail_at(symbol.offset, "a symbol's name is of letters, digits and '_'");
      factors.emplace_back(symbol.text);
    } while (lexer.accept("*"));
    if (!lexer.accept("<=")) lexer.expected("'<=' and the largest value");
    const int64_t upper = integer("the largest value");
    lexer.at(at, [&] { symbols.bound(factors, upper); });
    if (factors.size() > kMostFactors || symbols.bounds().size() > kMostBounds)
      lexer.fail_at(at.offset, "too many symbols");
  } while (lexer.accept(","));
}

Segment TextParser::segment() {
  Segment segment;
  segment.name = string("the segment's name in quotes");
  if (lexer.accept("{"))
    fields([&](const Token& key) {
      if (key.text == "init")
        segment.init = initializer();
      else if (key.text == "decay")
        segment.decay = boolean();
      else if (key.text == "checkpoint")
        segment.checkpoint_names = strings();
      else if (key.text == "transposed")
        segment.transposed = boolean();
      else
        unknown_field(key, "init, decay, checkpoint, transposed");
    });
  lexer.expect(":");
  segment.shape = constant_shape();
  if (!lexer.accept_word("at")) lexer.expected("'at' and the segment's offset");
  segment.offset = integer("the segment's offset");
  return segment;
}

State TextParser::state() {
  State state;
  state.name = string("the state's name in quotes");
  if (lexer.accept("{"))
    fields([&](const Token& key) {
      if (key.text == "init") {
        state.init = initializer();
      } else if (key.text == "role") {
        const Token word = lexer.expect(Token::Kind::identifier, "a role");
        const auto role = parse_role(word.text);
        if (!role) lexer.fail_at(word.offset, fmt::format("expected a role, found {}", describe(word)));
        state.role = *role;
      } else {
        unknown_field(key, "role, init");
      }
    });
  lexer.expect(":");
  Type written = type();
  state.dtype = written.dtype;
  state.shape = std::move(written.shape);
  if (!lexer.accept("{")) return state;
  while (!lexer.accept("}")) {
    if (!lexer.accept_word("segment")) lexer.expected("'segment' or '}'");
    state.segments.push_back(segment());
  }
  return state;
}

namespace {

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

bool is_hex(std::string_view text) {
  return text.size() % 2 == 0 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Buffer TextParser::buffer(const std::vector<State>& states) {
  Buffer buffer;
  buffer.name = string("the buffer's name in quotes");
  const auto field = [&](const Token& key) {
    if (key.text == "role") {
      const auto role = parse_role(lexer.expect(Token::Kind::identifier, "a role").text);
      if (!role) lexer.expected("a role before this");
      buffer.role = *role;
    } else if (key.text == "state") {
      buffer.state = small_integer("the number of a state");
      if (buffer.state < 0 || buffer.state >= static_cast<int>(states.size()))
        lexer.expected(fmt::format("the number of one of {} states before this", states.size()));
    } else if (key.text == "offset") {
      buffer.offset_bytes = integer();
    } else if (key.text == "bytes") {
      buffer.bytes = integer();
    } else if (key.text == "live") {
      const std::vector<int64_t> steps = integers();
      if (steps.size() != 2) lexer.expected("the first and the last step before this");
      buffer.first_step = static_cast<int>(steps[0]), buffer.last_step = static_cast<int>(steps[1]);
    } else if (key.text == "data") {
      const std::string hex = string("bytes as hexadecimal digits");
      if (!is_hex(hex)) lexer.expected("pairs of hexadecimal digits (0-9, a-f) before this");
      buffer.data = bytes_of(hex);
    } else {
      unknown_field(key, "role, state, offset, bytes, live, data");
    }
  };
  if (lexer.accept("{")) fields(field);
  lexer.expect(":");
  buffer.dtype = dtype();
  lexer.expect("[");
  buffer.elements = dim();
  lexer.expect("]");
  return buffer;
}

}  // namespace smelt
