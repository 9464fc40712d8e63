#include "passes/graph/simplify/simplify.h"

namespace smelt {
namespace {

using Sizes = std::map<std::string, Dim, std::less<>>;

/// Coordinates of a rank, as data.rank, have no largest value that they all have.
bool is_coordinate(const std::string& name) { return name.find('.') != std::string::npos; }

Sizes largest(const Symbols& symbols) {
  SymbolValues values;
  Sizes sizes;
  for (const std::string& name : symbols.names()) {
    values[name] = symbols.upper(Dim::symbol(name));
    if (!is_coordinate(name)) sizes.emplace(name, values[name]);
  }
  symbols.check(values);
  return sizes;
}

void bind(Shape& shape, const Sizes& sizes) {
  for (Dim& dim : shape) dim = substitute(dim, sizes);
}

Attribute bound(const Dim& dim, const Sizes& sizes) {
  Dim result = substitute(dim, sizes);
  if (const auto number = result.constant()) return *number;
  return result;
}

void bind(Graph& graph, const Sizes& sizes) {
  for (const auto& node : graph.nodes()) {
    for (const auto& result : node->results()) bind(result->type.shape, sizes);
    for (auto& [name, attribute] : node->attributes)
      if (const auto* dim = std::get_if<Dim>(&attribute)) attribute = bound(Dim(*dim), sizes);
    if (node->body) bind(*node->body, sizes);
  }
}

}  // namespace

bool bind_symbols(Module& module, const BindSymbolsOptions&) {
  const Sizes sizes = largest(module.symbols);
  if (sizes.empty()) return false;
  for (const auto& graph : module.graphs) bind(*graph, sizes);
  for (Module::Parameter& parameter : module.parameters) bind(parameter.type.shape, sizes);
  for (State& state : module.states) bind(state.shape, sizes), bind(state.whole, sizes);
  if (module.partitioned) module.partitioned->clear();
  Symbols coordinates;
  for (const Symbols::Bound& bound : module.symbols.bounds())
    if (is_coordinate(bound.factors[0])) coordinates.bound(bound.factors, bound.upper, bound.lower);
  module.symbols = coordinates;
  return true;
}

}  // namespace smelt
