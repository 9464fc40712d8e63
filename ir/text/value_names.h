// The names that a graph's values have in the text form.
#pragma once

#include <string>

#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// A value keeps its own name (an input its argument name) where that is a valid name and not taken; the
/// others are numbered.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph);
  /// Without %; "?" for a value that the graph does not define.
  const std::string& operator[](const Value* value) const;

 private:
  llvm::DenseMap<const Value*, std::string> names_;
};

}  // namespace smelt
