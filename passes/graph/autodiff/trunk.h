// Residual stream ("trunk") of a graph: the values that alone carry the forward phase from one block to the
// next, such as those between an attention and a feed-forward network. It is found from the structure of the
// graph.
//
// A value belongs to the stream under two conditions. It is read again after further matmuls, as the input of
// a residual addition is. No value that is older than it and depends on a matmul is read after it. Values
// that all later blocks read, such as the result of an encoder, are exempt from the second condition. A layer
// begins with a block and ends before the next block that has the same matmuls.
#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

struct TrunkValue {
  const Value* value;
  bool begins_layer;  // false: begins a block within a layer
};

/// Returns the values of the residual stream in program order. `forward` selects the nodes of the forward
/// phase.
std::vector<TrunkValue> find_trunk(const Graph& graph, llvm::function_ref<bool(const Node&)> forward);

/// Returns the value that a chain of views reads, or `value` itself.
const Value* viewed(const Value* value);

/// Segments of the forward phase, separated by values of the residual stream; `of` returns the segment of a
/// node, from 0.
class TrunkSegments {
 public:
  /// Makes segments between all blocks (layers = 0), or of `layers` layers each.
  TrunkSegments(const Graph& graph, llvm::function_ref<bool(const Node&)> forward, int64_t layers);
  int64_t of(const Node& node) const { return segment_.lookup(&node); }
  int64_t count() const { return count_; }
  /// Returns whether the node comes after the whole residual stream, if the graph has one. Backward begins
  /// with the values of these nodes.
  bool is_last_block(const Node& node) const { return last_block_.contains(&node); }

 private:
  llvm::DenseMap<const Node*, int64_t> segment_;
  llvm::DenseSet<const Node*> last_block_;
  int64_t count_ = 1;
};

}  // namespace smelt
