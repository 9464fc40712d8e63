// Which values may be computed directly in the memory of the state whose new content they are.
#pragma once

#include <map>
#include <vector>

#include "ir/analysis/state_reads.h"
#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// What the result begins with, if no other reader and no output shows its memory: what a scatter_add, a
/// scatter or a matmul's body changes, or an insert of a fusion puts something into. It should be computed
/// where the result goes. Null for any other: the result is then computed in a copy.
Value* added_to(const Value& result);

/// Needs the layouts of states and parameters, and of views with their memory.
class Overwrites {
 public:
  explicit Overwrites(const Graph& graph) : graph_(graph) {}

  /// Whether all of the state's old content at `place` is read before any of `value` is written there, or
  /// element by element as it is written. A pack's parts are written where they are computed, so each may
  /// read its own place. Each yes adds the constraint that readers come before writers, which later answers
  /// take into account.
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
