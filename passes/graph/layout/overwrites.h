// Rules for computing a value in memory that holds other data: the new content of a state in the state's
// memory, and a result in the memory of the operand that it modifies.
#pragma once

#include <map>
#include <vector>

#include "ir/analysis/state_reads.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Returns the operand that the result overwrites in memory: the first operand of a scatter_add or scatter,
/// the matrix that a matmul's epilogue adds, or the value that an insert in a fusion writes into. That
/// operand should be computed in the result's memory. Returns null for all other results. Also returns null
/// if another node or an output reads the operand or a view of it, because the operand must then be copied.
Value* added_to(const Value& result);

/// Decides, for each value that an update of the graph writes to a state, whether the value is computed in
/// the state's memory or copied to it. Requires: states, parameters and views of these have layouts.
class Overwrites {
 public:
  explicit Overwrites(const Graph& graph) : graph_(graph) {}

  /// Returns whether `value`, the new content of a state, may be computed in the state's memory `place`. Each
  /// reader of the old content must meet one of two conditions: it can run before the nodes that write
  /// `value`, or it writes `value` itself and reads each element just before it writes that element. If
  /// `value` is a pack (the op that makes a flat state from many operands), each operand is computed in its
  /// part of the memory, and its node may read the old content of this part. If the result is true, readers
  /// must run before writers; later calls take this order into account.
  bool grant(const Value& value, const Layout& place);

 private:
  struct Place {
    Layout layout;
    const Value* value;  // the result that is written there
    Region region = region_of(layout, value->shape());
  };
  using Places = std::map<const Node*, std::vector<Place>>;  // by the node that writes there
  class Makers;  // the nodes that compute a value, or the operands of a pack, and where they write

  /// Returns whether the reader of a state's content is one of `writers`, and reads only memory that it alone
  /// writes.
  static bool reads_own_place(const StateRead& read, const Places& writers);
  llvm::DenseSet<const Node*> after(const Places& writers) const;
  void note_order(const std::vector<StateRead>& reads, const Places& writers);

  const Graph& graph_;
  /// By reader of old content: the writers that must run after it, because of earlier grants.
  llvm::DenseMap<const Node*, llvm::DenseSet<const Node*>> writers_after_;
};

}  // namespace smelt
