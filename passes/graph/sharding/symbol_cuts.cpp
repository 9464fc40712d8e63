#include "passes/graph/sharding/written_shardings.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/sharding/local_nodes.h"

namespace smelt {

SymbolCutter::SymbolCutter(const Module& module) : module_(module) {
  for (const State& state : module.states) add(state.shape, sharding_of(state, module.mesh()));
}

void SymbolCutter::add(const Graph& graph, const Assignments& assignments) {
  for (const auto& node : graph.nodes()) {
    const Assignment& made = assignments.find(node.get())->second;
    for (unsigned i = 0; i < node->operands().size(); ++i) add(node->operand(i)->shape(), made.operand(i));
    if (node->body)
      for (const auto& inner : node->body->nodes())
        for (const auto& result : inner->results()) add(result->shape(), made.inside(*result));
    for (unsigned i = 0; i < node->result_count(); ++i) {
      add(node->result(i)->shape(), made.result(i));
      if (const auto written = written_sharding(*node->result(i))) add(node->result(i)->shape(), *written);
    }
  }
}

void SymbolCutter::add(const Shape& shape, const Sharding& sharding) {
  for (size_t i = 0; i < shape.size(); ++i) {
    const std::vector<size_t>& axes = sharding.dims[i];
    if (axes.empty() || shape[i].is_constant()) continue;
    const auto terms = shape[i].terms();
    if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].atoms.size() == 1 &&
        !terms[0].atoms[0].inner)
      cut(terms[0].atoms[0].name, axes);
    else
      dims_.emplace_back(shape[i], axes);
  }
}

void SymbolCutter::cut(const std::string& symbol, const std::vector<size_t>& axes) {
  std::vector<size_t>& all = cuts_[symbol];
  for (const size_t axis : axes)
    if (!llvm::is_contained(all, axis)) all.push_back(axis);
}

SymbolCuts SymbolCutter::finish() {
  for (const auto& [dim, axes] : dims_) {
    const LocalSizes sizes(module_.mesh(), cuts_);
    if (sizes.whole(dim).divide(parts_of(module_.mesh(), axes))) continue;
    const std::vector<Dim::Term> terms = dim.terms();
    const auto symbol = llvm::find_if(terms[0].atoms, [](const Atom& atom) { return !atom.inner; });
    cut(symbol->name, axes);
  }
  return std::move(cuts_);
}

}  // namespace smelt
