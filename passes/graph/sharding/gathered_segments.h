// Reads of parameters whose flat state is sharded over ranks. A flat state stores many parameters one after
// another, each as a segment (passes/graph/training/flatten_parameters.h). If every rank has a whole rounded
// copy of the state, parameters are read from the copy. Otherwise the whole state is gathered before forward
// and again before backward, so that no rank stores all parameters between the two (ZeRO stage 3).
#pragma once

#include <map>
#include <tuple>

#include "passes/graph/sharding/local_nodes.h"

namespace smelt {

/// `node` reads a parameter. Returns the flat state that has this parameter as a segment. Returns null if
/// that state is not sharded over ranks, or if the op of `node` is not `parameter`.
const State* cut_flat_state(const Node& node);

/// Builder of the reads of such parameters. It builds each gather, and each read of a parameter, once per
/// phase.
class GatheredSegments {
 public:
  GatheredSegments(GraphBuilder& b, Resharder& resharder, const LocalSizes& sizes)
      : b_(b), resharder_(resharder), sizes_(sizes) {}

  /// Returns the value of the parameter that nodes of this phase read: from the copy of `flat`, or gathered
  /// from the ranks that share `flat`. If the parameter itself is sharded too, returns the rank's part of it.
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
