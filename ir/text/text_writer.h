// What the printers of modules, kernels and programs have in common.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// {a = 1, b = 2} with a space before it, or nothing where there are no fields.
class Fields {
 public:
  void add(std::string_view key, std::string value);
  std::string str() const;

 private:
  std::string text_;
};

std::string bare_or_quoted(std::string_view name);
std::string text(double number);  // 1.0, 1e-05, inf: always marked as a float
std::string text(const std::vector<std::string>& strings);
/// An attribute as it reads back.
std::string text(const Attribute& attribute);
std::string text(const Symbols& symbols);  // a line, or nothing
std::string text(const State& state);
std::string text(const Buffer& buffer, size_t number);
std::string text(const Layout& layout);  // @3[B*T; T,1]
/// "data + model", "-" for none
std::string text_of_axes(const std::vector<std::string>& axes);

}  // namespace smelt
