// Functions that the printers of modules, kernels and programs share.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// List of fields whose text is " {a = 1, b = 2}", or "" if there are no fields.
class Fields {
 public:
  /// Adds "key = value".
  void add(std::string_view key, std::string value);
  std::string str() const;

 private:
  std::string text_;
};

/// Returns the name, in quotes if it is no identifier (ir/text/lexer.h).
std::string bare_or_quoted(std::string_view name);
std::string text(double number);                            // 1.0, 1e-05 or inf: never the text of an integer
std::string text(const std::vector<std::string>& strings);  // ["a", "b"]
/// Returns the text of an attribute, which the parser reads back to the same attribute.
std::string text(const Attribute& attribute);
/// Return the declarations of the symbols, or the declaration of one state or one buffer: whole lines, with a
/// line feed at the end. The text of symbols is empty if there are none. `number` is the index of the buffer
/// in its list.
std::string text(const Symbols& symbols);
std::string text(const State& state);
std::string text(const Buffer& buffer, size_t number);
/// Returns "@BUFFER[OFFSET; STRIDES]", with the number of the buffer, and the offset and strides in elements.
/// For example, "@3[B*T; T,1]" is a matrix in buffer 3. It begins at element B*T, and its strides are T (dim
/// 0) and 1 (dim 1). A scalar has no strides: "@3[B*T]".
std::string text(const Layout& layout);
/// Returns "data + model"; "-" if there are no axes.
std::string text_of_axes(const std::vector<std::string>& axes);

}  // namespace smelt
