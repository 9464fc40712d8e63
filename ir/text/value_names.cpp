#include "ir/text/names.h"

#include <algorithm>

#include "llvm/ADT/StringSet.h"

namespace smelt {
namespace {

/// Names may begin with a digit but not be a number: those are given out here.
bool is_usable(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::any_of(name.begin(), name.end(), letter) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c) || c == '.'; });
}

const std::string& wanted_name(const Value& value) {
  const Node& node = *value.node();
  if (!node.is(Op::input)) return value.name;
  const auto* argument = node.attributes.find_as(attr::name);
  return argument && is_usable(*argument) ? *argument : value.name;
}

}  // namespace

ValueNames::ValueNames(const Graph& graph) {
  llvm::StringSet<> taken;
  size_t next = 0;
  const auto name_results = [&](const Node& node) {
    for (const auto& result : node.results()) {
      const std::string& wanted = wanted_name(*result);
      const bool keep = is_usable(wanted) && taken.insert(wanted).second;
      names_[result.get()] = keep ? wanted : std::to_string(next++);
    }
  };
  for (const auto& node : graph.nodes())  // arguments are first in the text
    if (node->is(Op::input)) name_results(*node);
  for (const auto& node : graph.nodes())
    if (!node->is(Op::input)) name_results(*node);
}

const std::string& ValueNames::operator[](const Value* value) const {
  static const std::string unknown = "?";
  auto it = names_.find(value);
  return it == names_.end() ? unknown : it->second;
}

}  // namespace smelt
