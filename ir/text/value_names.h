// Names of a graph's values in the text form.
#pragma once

#include <string>

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// A value keeps its own name (an input its argument name) if that is valid and not taken; other values are
/// numbered.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph);
  /// Returns the name without %; "?" for a value that the graph does not define.
  const std::string& operator[](const Value* value) const;

 private:
  llvm::DenseMap<const Value*, std::string> names_;
};

}  // namespace smelt
