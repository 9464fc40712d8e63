// Symbols, states and buffers as text.
#include <charconv>
#include <tuple>

#include "ir/text/text_parser.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

constexpr size_t kMostFactors = 24, kMostBounds = 256;

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

/// Parses the least value before a symbol, as in 16 <= T; default: 1, or 0 for a coordinate of a rank.
int64_t TextParser::least_value() {
  if (lexer.peek().kind != Token::Kind::number) return 1;
  const int64_t least = integer();
  if (!lexer.accept("<=")) lexer.expected("'<=' and the name of a symbol");
  return least;
}

void TextParser::symbols(Symbols& symbols) {
  do {
    const Token at = lexer.peek();
    const int64_t least = least_value();
    std::vector<std::string> factors;
    do {
      const Token& symbol = lexer.expect(Token::Kind::identifier, "the name of a symbol");
      const bool dotted = symbol.text.find('.') != std::string_view::npos;
      if ((dotted && least != 0) || symbol.is_special_number())
        lexer.fail_at(symbol.offset,
                      "a symbol's name is of letters, digits and '_'; a coordinate of a rank is at least 0: "
                      "0 <= data.rank");
      factors.emplace_back(symbol.text);
    } while (lexer.accept("*"));
    if (!lexer.accept("<=")) lexer.expected("'<=' and the largest value");
    const int64_t upper = integer("the largest value");
    lexer.at(at, [&] { symbols.bound(factors, upper, least); });
    if (factors.size() > kMostFactors || symbols.bounds().size() > kMostBounds)
      lexer.fail_at(at.offset, "too many symbols");
  } while (lexer.accept(","));
}

Role TextParser::role() {
  const Token word = lexer.expect(Token::Kind::identifier, "a role");
  const auto role = parse_role(word.text);
  if (!role) lexer.fail_at(word.offset, fmt::format("expected a role, found {}", describe(word)));
  return *role;
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
      else if (key.text == "frozen")
        segment.frozen = boolean();
      else if (key.text == "stacked")
        segment.stacked = boolean();
      else if (key.text == "per_byte")
        segment.per_byte = integer("the elements in a byte");
      else if (key.text == "whole")
        segment.whole = constant_shape();
      else
        unknown_field(key, "init, decay, checkpoint, transposed, frozen, stacked, per_byte, whole");
    });
  lexer.expect(":");
  segment.shape = constant_shape();
  const Token on = lexer.peek();
  if (auto shared = sharding_names()) {
    if (!shared->partial.empty()) lexer.fail_at(on.offset, "a segment is cut, never partial");
    segment.cut = std::move(shared->dims);
  }
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
        state.role = role();
      } else if (key.text == "copy_of") {
        state.copy_of = string("the name of the state that it copies");
      } else if (key.text == "scales_of") {
        state.scales_of = string("the name of the state whose rows it scales");
      } else if (key.text == "zeros_of") {
        state.zeros_of = string("the name of the state whose groups have these zeros");
      } else if (key.text == "format") {
        state.format = string("the format of packed numbers");
      } else if (key.text == "from_model") {
        state.from_model = boolean();
      } else if (key.text == "whole") {
        state.whole = shape();
      } else if (key.text == "resident") {
        state.resident = integer("how many elements a GPU holds");
      } else {
        unknown_field(key, "role, init, copy_of, scales_of, zeros_of, format, from_model, whole, resident");
      }
    });
  lexer.expect(":");
  Type written = type();
  state.dtype = written.dtype;
  state.shape = std::move(written.shape);
  if (auto shared = sharding_names()) {
    state.cut = std::move(shared->dims), state.partial = std::move(shared->partial);
    if (llvm::all_of(state.cut, [](const auto& axes) { return axes.empty(); })) state.cut.clear();
  }
  if (!lexer.accept("{")) return state;
  while (!lexer.accept("}")) {
    if (!lexer.accept_word("segment")) lexer.expected("'segment' or '}'");
    state.segments.push_back(segment());
  }
  return state;
}

std::pair<int, int> TextParser::steps_alive() {
  lexer.expect("[");
  const int first = small_integer("the first step");
  lexer.expect(",");
  const int last = small_integer("the last step");
  lexer.expect("]");
  return {first, last};
}

std::vector<BufferPart> TextParser::buffer_parts() {
  std::vector<BufferPart> parts;
  lexer.expect("[");
  do {
    BufferPart& part = parts.emplace_back();
    part.begin = integer();
    lexer.expect(":");
    std::tie(part.first_step, part.last_step) = steps_alive();
  } while (lexer.accept(","));
  lexer.expect("]");
  return parts;
}

Buffer TextParser::buffer(const std::vector<State>& states) {
  Buffer buffer;
  buffer.name = string("the buffer's name in quotes");
  const auto field = [&](const Token& key) {
    if (key.text == "role") {
      buffer.role = role();
    } else if (key.text == "state") {
      buffer.state = small_integer("the number of a state");
      if (buffer.state < 0 || buffer.state >= static_cast<int>(states.size()))
        lexer.expected(fmt::format("the number of one of {} states before this", states.size()));
    } else if (key.text == "offset") {
      buffer.offset_bytes = integer();
    } else if (key.text == "bytes") {
      buffer.bytes = integer();
    } else if (key.text == "live") {
      std::tie(buffer.first_step, buffer.last_step) = steps_alive();
    } else if (key.text == "parts") {
      buffer.parts = buffer_parts();
    } else if (key.text == "data") {
      const std::string hex = string("bytes as hexadecimal digits");
      if (!is_hex(hex)) lexer.expected("pairs of hexadecimal digits (0-9, a-f) before this");
      buffer.data = bytes_of(hex);
    } else {
      unknown_field(key, "role, state, offset, bytes, live, parts, data");
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
