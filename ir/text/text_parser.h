// Common parser of the text forms of modules, kernels and programs: sizes, types, attributes, symbols,
// states, buffers.
#pragma once

#include <functional>

#include "ir/graph/graph.h"
#include "ir/text/lexer.h"

namespace smelt {

class TextParser {
 public:
  TextParser(std::string_view text, std::string_view file) : lexer(text, file) {}

 protected:
  // ---- numbers and words
  int64_t integer(std::string_view what = "an integer");
  int32_t small_integer(std::string_view what = "an integer");  // one that fits 32 bits
  double number(std::string_view what = "a number");
  bool boolean();
  std::string string(std::string_view what = "a string");
  std::string name(std::string_view what);  // a bare name or a string
  std::string graph_name();                 // @name
  template <typename F>
  void list(std::string_view close, F item);  // item, item, ... close, after the opening
  std::vector<int64_t> integers();            // [1, 2]
  std::vector<std::string> strings();         // ["a", "b"]
  /// Parses {key = value, ...} after the opening brace: calls `field` at each value.
  void fields(const std::function<void(const Token& key)>& field);
  [[noreturn]] void unknown_field(const Token& key, std::string_view expected);

  // ---- sizes and types
  Dim dim();
  Dim dim(const Token& at, const std::function<Dim()>& f);  // f with its errors placed and its size bounded
  Shape shape();                                            // [B,T]
  std::vector<int64_t> constant_shape();
  DType dtype();
  Type type();
  std::optional<Layout> layout();  // @3[offset; stride, ...] where it follows
  void check_size(const Token& at, const Type& type);
  std::vector<std::string> axes();  // data + model, or - for none
  /// Optional sharding by names: on [data, -] partial [model].
  struct NamedSharding {
    std::vector<std::vector<std::string>> dims;
    std::vector<std::string> partial;
  };
  std::optional<NamedSharding> sharding_names();
  Attribute attribute();
  Initializer initializer();
  bool starts_initializer() const;

  // ---- declarations, after the keyword
  void symbols(Symbols& symbols);
  int64_t least_value();
  State state();
  Role role();
  Buffer buffer(const std::vector<State>& states);
  std::pair<int, int> steps_alive();       // [first, last]
  std::vector<BufferPart> buffer_parts();  // [byte: [first, last], ...]

  Lexer lexer;
  /// Symbols that sizes may use; null: any symbol.
  const Symbols* known_symbols = nullptr;
  /// Resolves a name or %value inside a size (kernels: axes and computed indices); empty: only symbols.
  std::function<std::optional<Dim>(const Token&)> stand_in;

 private:
  Dim dim_sum();
  Dim dim_product();
  Dim dim_factor();
  Dim dim_call(Dim (*division)(const Dim&, int64_t));
  Dim symbol(const Token& token);
  std::vector<double> floats();
  Attribute number_list();
  Segment segment();

  int depth_ = 0;
};

template <typename F>
void TextParser::list(std::string_view close, F item) {
  if (lexer.accept(close)) return;
  do item();
  while (lexer.accept(","));
  if (!lexer.accept(close)) lexer.expected(fmt::format("',' or '{}'", close));
}

}  // namespace smelt
