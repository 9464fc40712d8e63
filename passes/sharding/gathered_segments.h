// Parameters whose flat state ranks have parts of. Where every rank has all of a rounded copy they are read
// there; else what is read is gathered, whole buckets at a time, once for forward and again for backward, so
// that no rank keeps all parameters in between (ZeRO stage 3).
#pragma once

#include <map>
#include <tuple>

#include "passes/sharding/local_nodes.h"

namespace smelt {

/// The flat state that a parameter is a segment of, where ranks have parts of that; null for any other node.
const State* cut_flat_state(const Node& node);

class GatheredSegments {
 public:
  GatheredSegments(GraphBuilder& b, Resharder& resharder, const LocalSizes& sizes)
      : b_(b), resharder_(resharder), sizes_(sizes) {}

  /// The whole parameter, for users in this phase.
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
