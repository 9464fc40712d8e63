// Value numbering: two values with one number are equal by construction (same op, attributes and operands'
// numbers). The attribute `phase` is ignored, `anchor` is not.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

class ValueNumbers {
 public:
  /// Numbers the graph on first use.
  explicit ValueNumbers(const Graph& graph) : graph_(graph) {}
  /// Returns the number; a value made since construction gets one now.
  unsigned of(Value* value);
  bool same(Value* a, Value* b) { return of(a) == of(b); }
  /// Returns the values with the number, oldest first.
  const std::vector<Value*>& members(unsigned number) const { return members_[number]; }
  /// Removes the results of the node. Requires: the call is made before the node is erased.
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
