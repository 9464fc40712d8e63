// Which values may be computed where the state lives that they are the new content of.
#pragma once

#include <map>
#include <vector>

#include "ir/analysis/state_reads.h"
#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt {

/// Needs the layouts of states and parameters, and of views with their memory.
class Overwrites {
 public:
  explicit Overwrites(const Graph& graph) : graph_(graph) {}

  /// Is all of the state's old content at `place` read before any of `value` is written there, or element by
  /// element as it is written? A pack's parts are written where they are computed, so each may read its own
  /// place. Later answers count on those that were yes: readers come before writers.
  bool grant(const Value& value, const Layout& place);

 private:
  struct Place {
    Layout layout;
    const Value* value;  // the maker's result that goes there
    Region region = region_of(layout, value->shape());
  };
  using Places = std::map<const Node*, std::vector<Place>>;  // by the node that computes what goes there
  class Makers;

  static bool reads_own_place(const StateRead& read, const Places& writers);
  llvm::DenseSet<const Node*> after(const Places& writers) const;
  void note_order(const std::vector<StateRead>& reads, const Places& writers);

  const Graph& graph_;
  llvm::DenseMap<const Node*, llvm::DenseSet<const Node*>> writers_after_;  // by reader
};

}  // namespace smelt
