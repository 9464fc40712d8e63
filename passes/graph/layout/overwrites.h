// Values that may be computed directly in the memory of the state whose new content they are.
#pragma once

#include <map>
#include <vector>

#include "ir/analysis/state_reads.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Returns the operand whose memory the result overwrites: the first operand of a scatter_add or scatter, the
/// matrix that a matmul's epilogue adds to, or the value that an insert of a fusion writes into. That operand
/// should be computed in the result's memory. Returns null if another reader or an output also uses that
/// memory, and for all other results: the result is then computed in a copy.
Value* added_to(const Value& result);

/// Decides about overwriting. Requires: the layouts of states, of parameters and of views of these.
class Overwrites {
 public:
  explicit Overwrites(const Graph& graph) : graph_(graph) {}

  /// Returns whether all of the state's old content at `place` is read before any element of `value` is
  /// written there, or elementwise as it is written. A pack's parts are written where they are computed, so
  /// each may read its own place. Each positive answer adds the constraint that readers come before writers,
  /// which later answers respect.
  bool grant(const Value& value, const Layout& place);

 private:
  struct Place {
    Layout layout;
    const Value* value;  // the maker's result that goes there
    Region region = region_of(layout, value->shape());
  };
  using Places = std::map<const Node*, std::vector<Place>>;  // by the node that computes the content
  class Makers;

  static bool reads_own_place(const StateRead& read, const Places& writers);
  llvm::DenseSet<const Node*> after(const Places& writers) const;
  void note_order(const std::vector<StateRead>& reads, const Places& writers);

  const Graph& graph_;
  llvm::DenseMap<const Node*, llvm::DenseSet<const Node*>> writers_after_;  // by reader
};

}  // namespace smelt
