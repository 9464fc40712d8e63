// Annotated shardings of a graph's values, states and parameters, before any sharding is derived.
#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace smelt {

/// Returns the annotation of a value, or that of the state or parameter that it is read from; these are whole
/// if they have none.
std::optional<Sharding> written_sharding(const Value& value);
/// Returns the sharding of the state that the node reads or updates.
Sharding sharding_of_state(const Node& node);
/// Returns the required sharding of operand i of a pack: that of its segment of the state.
Sharding sharding_of_segment(const Node& pack, unsigned i);
/// Throws one Error with every dim of this graph and of its module that its ranks do not divide.
void require_fitting_shardings(const Graph& graph);

}  // namespace smelt
