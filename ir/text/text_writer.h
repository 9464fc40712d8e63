// Functions that the printers of modules, kernels and programs share.
#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// List of fields whose text is " {a = 1, b = 2}", or "" if there are no fields.
class Fields {
 public:
  void add(std::string_view key, std::string value);
  std::string str() const;

 private:
  std::string text_;
};

/// Returns the name, in quotes if it is no identifier (ir/text/lexer.h).
std::string bare_or_quoted(std::string_view name);
std::string text(double number);  // 1.0, 1e-05, inf, so that it is never read as an integer
std::string text(const std::vector<std::string>& strings);
/// Returns an attribute as text that parses back.
std::string text(const Attribute& attribute);
// Symbols, states and buffers have whole lines as text; without symbols the text is empty.
std::string text(const Symbols& symbols);
std::string text(const State& state);
std::string text(const Buffer& buffer, size_t number);
std::string text(const Layout& layout);  // @3[B*T; T,1]
/// Returns "data + model"; "-" if there are no axes.
std::string text_of_axes(const std::vector<std::string>& axes);

}  // namespace smelt
