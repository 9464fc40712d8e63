#include "passes/simplify/bind_symbols.h"

namespace smelt {
namespace {

SymbolValues largest(const Symbols& symbols) {
  SymbolValues values;
  for (const std::string& name : symbols.names()) values[name] = symbols.upper(Dim::symbol(name));
  symbols.check(values);
  return values;
}

void bind(Shape& shape, const SymbolValues& values) {
  for (Dim& dim : shape) dim = dim.evaluate(values);
}

void bind(Graph& graph, const SymbolValues& values) {
  for (const auto& node : graph.nodes()) {
    for (const auto& result : node->results()) bind(result->type.shape, values);
    for (auto& [name, attribute] : node->attributes)
      if (std::holds_alternative<Dim>(attribute)) attribute = std::get<Dim>(attribute).evaluate(values);
    if (node->body) bind(*node->body, values);
  }
}

}  // namespace

bool bind_symbols(Module& module, const BindSymbolsOptions&) {
  if (module.symbols.names().empty()) return false;
  const SymbolValues values = largest(module.symbols);
  for (const auto& graph : module.graphs) bind(*graph, values);
  for (Module::Parameter& parameter : module.parameters) bind(parameter.type.shape, values);
  for (State& state : module.states) bind(state.shape, values);
  module.symbols = {};
  return true;
}

}  // namespace smelt
