// Cut symbols: those of sharded dims whose constant factors the ranks do not divide.
#pragma once

#include "passes/graph/sharding/partial_sums.h"

namespace smelt {

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
