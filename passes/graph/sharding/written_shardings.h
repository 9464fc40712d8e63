// Shardings with which values, states and parameters are annotated, and the symbols that shardings cut.
#pragma once

#include <optional>

#include "ir/graph/graph.h"
#include "passes/graph/sharding/sums.h"

namespace smelt {

// ---- written_shardings.cpp
// Annotated shardings of a graph's values, states and parameters.

/// Returns the annotation of a value; nothing if there is none. For a value that is read from a state or
/// parameter, returns the sharding of the state or parameter, which is replicated if it has no annotation.
std::optional<Sharding> written_sharding(const Value& value);
/// Returns the sharding of the state that the node reads or updates.
Sharding sharding_of_state(const Node& node);
/// Returns the sharding that operand i of a `pack` node must have: the sharding of segment i of the flat
/// state into which the node packs.
Sharding sharding_of_segment(const Node& pack, unsigned i);
/// Throws one Error with all annotations of this graph, and of its module's states and parameters, that do
/// not fit: for example a dim that the number of ranks does not divide.
void require_fitting_shardings(const Graph& graph);

// ---- symbol_cuts.cpp
// Cut symbols: those that stand for the size of one rank's part after the pass `partition`. A sharded dim is
// divided by the number of ranks, either in its constant factor or in a symbol. The symbol is cut if the dim
// is the symbol alone, or if the number of ranks does not divide the factor: two ranks divide [8*B] into
// [4*B], while [B] and [3*B] cut B.

/// Collector of the cut symbols of a module.
class SymbolCutter {
 public:
  /// Adds the sharded states of the module. Requires: the module outlives this object.
  explicit SymbolCutter(const Module& module);

  /// Adds the shardings of the graph's values, as annotated and as `assignments` has them.
  void add(const Graph& graph, const Assignments& assignments);
  /// Returns the cut symbols with their axes, and leaves this object empty. A symbol that different axes cut
  /// in different dims is cut by all of them.
  SymbolCuts finish();

 private:
  void add(const Shape& shape, const Sharding& sharding);
  void cut(const std::string& symbol, const std::vector<size_t>& axes);

  const Module& module_;
  std::vector<std::pair<Dim, std::vector<size_t>>> dims_;  // sharded dims other than single symbols
  SymbolCuts cuts_;
};

}  // namespace smelt
