// Base class of the parsers of modules, kernels and programs: it parses sizes, types, attributes, symbols,
// states and buffers.
#pragma once

#include <functional>

#include "ir/graph/graph.h"
#include "ir/text/lexer.h"

namespace smelt {

/// Parser of the constructs that modules, kernels and programs have in common. A function is named after a
/// construct. It parses this construct, which begins at the next token, and throws Error with the file, line
/// and column of a fault. The comment after a declaration may show an example of the text that the function
/// parses.
class TextParser {
 public:
  TextParser(std::string_view text, std::string_view file) : lexer(text, file) {}

 protected:
  // ---- numbers and words
  int64_t integer(std::string_view what = "an integer");
  int32_t small_integer(std::string_view what = "an integer");  // of at most 32 bits
  double number(std::string_view what = "a number");
  bool boolean();
  std::string string(std::string_view what = "a string");
  std::string name(std::string_view what);  // a bare name or a string
  std::string graph_name();                 // @name
  /// Parses item, item, ... and the symbol `close`. Requires: the opening symbol is consumed already.
  template <typename F>
  void list(std::string_view close, F item);
  std::vector<int64_t> integers();     // [1, 2]
  std::vector<std::string> strings();  // ["a", "b"]
  /// Parses {key = value, ...} after the opening brace. Calls field(key) for each field, which parses the
  /// value.
  void fields(const std::function<void(const Token& key)>& field);
  /// Throws Error at `key`; `expected` lists the known keys.
  [[noreturn]] void unknown_field(const Token& key, std::string_view expected);

  // ---- sizes and types
  Dim dim();
  /// Returns f(). Throws Error with the position of `at` if f throws Error, or if the size has too many terms
  /// or factors.
  Dim dim(const Token& at, const std::function<Dim()>& f);
  Shape shape();  // [B,T]
  std::vector<int64_t> constant_shape();
  DType dtype();
  Type type();
  std::optional<Layout> layout();  // @3[offset; stride, ...] in buffer number 3; nothing without an @
  /// Throws Error at `at` if the type has too many dims, or if its element count has too many terms.
  void check_size(const Token& at, const Type& type);
  std::vector<std::string> axes();  // data + model, or - for none
  /// Sharding by names of mesh axes. Example: on [data, -] partial [model]. Dim 0 is divided along the axis
  /// data, dim 1 is not divided, and the values on the ranks along the axis model are addends of a sum.
  struct NamedSharding {
    std::vector<std::vector<std::string>> dims;
    std::vector<std::string> partial;
  };
  std::optional<NamedSharding> sharding_names();  // nothing if the next word is not `on`
  Attribute attribute();
  Initializer initializer();
  bool starts_initializer() const;

  // ---- declarations, after their keyword
  void symbols(Symbols& symbols);
  int64_t least_value();  // lower bound of a symbol, 0 <= B; 1 if there is none
  State state();
  Role role();
  Buffer buffer(const std::vector<State>& states);
  std::pair<int, int> steps_alive();  // [first, last]: the steps between which a buffer is live
  /// Parses [byte: [first, last], ...]: for each part of a buffer its first byte, and the steps between which
  /// it is live.
  std::vector<BufferPart> buffer_parts();

  Lexer lexer;
  /// Symbols that sizes may name; null: any symbol.
  const Symbols* known_symbols = nullptr;
  /// Function for names in a size that are not symbols, such as the axes of a kernel and its computed indices
  /// (%value). Given the token, it returns the size that the token stands for, or nothing if the token is a
  /// symbol. Only the parser of kernels sets it. If it is empty, all names are symbols.
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
