// Value numbering: values with the same number are equal, because their nodes have the same op, attributes
// and types, and operands with the same numbers (in any order, if the op is commutative). Nodes of different
// phases may be equal. A recomputing copy (Node::anchored) is not equal to its original. Nodes with an effect
// or a body are equal only to themselves.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Value numbers of one graph.
class ValueNumbers {
 public:
  /// The graph's values get their numbers at the first call of of(). Requires: `graph` outlives this object.
  explicit ValueNumbers(const Graph& graph) : graph_(graph) {}
  /// Returns the value's number. A value of a node that was added after the first call gets its number when
  /// of() is first called for it.
  unsigned of(Value* value);
  bool same(Value* a, Value* b) { return of(a) == of(b); }
  /// Returns the values with the number, in the order in which they were numbered.
  const std::vector<Value*>& members(unsigned number) const { return members_[number]; }
  /// Removes the results of the node. Must be called before the node is erased from the graph.
  void forget(const Node& node);

 private:
  void add(Node& node);
  void number_all();
  std::string key_of(Node& node);
  unsigned intern(const std::string& key);
  const Graph& graph_;
  bool numbered_ = false;
  llvm::DenseMap<const Value*, unsigned> numbers_;
  std::unordered_map<std::string, unsigned> keys_;
  std::vector<std::vector<Value*>> members_;
};

}  // namespace smelt
