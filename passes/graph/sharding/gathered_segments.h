// Reads of parameters whose flat state is sharded over ranks. If every rank has a whole rounded copy, they
// are read there. Otherwise whole buckets are gathered, once for forward and again for backward, so that no
// rank keeps all parameters in between (ZeRO stage 3).
#pragma once

#include <map>
#include <tuple>

#include "passes/graph/sharding/local_nodes.h"

namespace smelt {

/// Returns the flat state that a parameter is a segment of, if that state is sharded over ranks; null for any
/// other node.
const State* cut_flat_state(const Node& node);

class GatheredSegments {
 public:
  GatheredSegments(GraphBuilder& b, Resharder& resharder, const LocalSizes& sizes)
      : b_(b), resharder_(resharder), sizes_(sizes) {}

  /// Returns the whole parameter, for users in this phase.
  Value* value(const Node& parameter, const State& flat, Phase phase);

 private:
  Value* read_copy(const Node& parameter, const State& copy);
  Value* slice_of(const Node& parameter, const State& flat, bool backward);
  Value* gathered(const State& flat, bool backward);

  GraphBuilder& b_;
  Resharder& resharder_;
  const LocalSizes& sizes_;
  std::map<std::pair<std::string, bool>, Value*> flats_;
  std::map<std::pair<const Node*, bool>, Value*> values_;
};

}  // namespace smelt
