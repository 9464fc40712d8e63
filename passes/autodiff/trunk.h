// The trunk of a graph: the values that alone carry the forward phase from one block to the next, such as a
// residual stream between an attention and a feed-forward network, found from the graph's structure.
//
// A value is of the trunk where it is read again behind further matmuls, as what a residual connection adds
// to is, and where nothing else that came from a matmul is still to be read when it has been made; what all
// blocks behind it read, such as the result of an encoder, does not count. Layers are the shortest sequence
// of blocks whose matmuls repeat.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

struct TrunkValue {
  const Value* value;
  bool begins_layer;  // else a block within one
};

/// In program order. `forward` says which nodes count.
std::vector<TrunkValue> find_trunk(const Graph& graph, llvm::function_ref<bool(const Node&)> forward);

/// The value that a view reads, behind any number of views.
const Value* viewed(const Value* value);

/// The segments of the forward phase between some of the trunk's values: that of a node, from 0.
class TrunkSegments {
 public:
  /// layers = 0: between all blocks; k: between every k-th layer and the next k.
  TrunkSegments(const Graph& graph, llvm::function_ref<bool(const Node&)> forward, int64_t layers);
  int64_t of(const Node& node) const { return segment_.lookup(&node); }
  int64_t count() const { return count_; }
  /// Behind the whole trunk, where there is one: backward begins with what it reads of these.
  bool is_last_block(const Node& node) const { return last_block_.contains(&node); }

 private:
  llvm::DenseMap<const Node*, int64_t> segment_;
  llvm::DenseSet<const Node*> last_block_;
  int64_t count_ = 1;
};

}  // namespace smelt
