// Shardings that a description states.
#pragma once

#include <optional>

#include "ir/graph/graph.h"
#include "passes/graph/sharding/sums.h"

namespace smelt {

// ---- written_shardings.cpp
// Annotated shardings of a graph's values, states and parameters, before any sharding is derived.

/// Returns the annotation of a value, or that of the state or parameter that it is read from; these are whole
/// if they have none.
std::optional<Sharding> written_sharding(const Value& value);
/// Returns the sharding of the state that the node reads or updates.
Sharding sharding_of_state(const Node& node);
/// Returns the required sharding of operand i of a pack: that of its segment of the state.
Sharding sharding_of_segment(const Node& pack, unsigned i);
/// Throws one Error with every dim of this graph and of its module that its ranks do not divide.
void require_fitting_shardings(const Graph& graph);

// ---- symbol_cuts.cpp
// Cut symbols: those of sharded dims whose constant factors the ranks do not divide.

class SymbolCutter {
 public:
  explicit SymbolCutter(const Module& module);

  void add(const Graph& graph, const Assignments& assignments);
  /// Returns the cut symbols. A symbol that different axes cut in different dims is cut by all of them.
  SymbolCuts finish();

 private:
  void add(const Shape& shape, const Sharding& sharding);
  void cut(const std::string& symbol, const std::vector<size_t>& axes);

  const Module& module_;
  std::vector<std::pair<Dim, std::vector<size_t>>> dims_;  // not single symbols
  SymbolCuts cuts_;
};

}  // namespace smelt
