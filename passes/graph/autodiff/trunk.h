// Residual stream ("trunk") of a graph: the values that are the only connection between one block of the
// forward phase and the next. For example, such a value connects an attention block to a feed-forward block.
// The stream is found from the structure of the graph.
//
// A value belongs to the stream if both conditions hold:
//   - it is read again after further matmuls, as the input of a residual addition is;
//   - no earlier value that depends on a matmul is read after the value is made, except for values that all
//     later blocks read, such as the result of an encoder.
// Each value of the stream begins a block. A layer is a sequence of blocks, which ends before the next block
// that has the same matmuls as the first block of the layer.
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

/// Returns the value at the start of the chain of views that ends with `value`: `value` itself if it is no
/// view.
const Value* viewed(const Value* value);

/// Segments of the forward phase, which end at values of the residual stream.
class TrunkSegments {
 public:
  /// Makes segments of `layers` layers each; layers = 0: segments of one block each.
  TrunkSegments(const Graph& graph, llvm::function_ref<bool(const Node&)> forward, int64_t layers);
  /// Returns the number of the node's segment, from 0.
  int64_t of(const Node& node) const { return segment_.lookup(&node); }
  int64_t count() const { return count_; }
  /// Returns whether the node comes after the last value of the residual stream. False if the graph has no
  /// residual stream. Backward reads the values of these nodes first.
  bool is_last_block(const Node& node) const { return last_block_.contains(&node); }

 private:
  llvm::DenseMap<const Node*, int64_t> segment_;
  llvm::DenseSet<const Node*> last_block_;
  int64_t count_ = 1;
};

}  // namespace smelt
