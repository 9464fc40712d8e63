// What is said of a graph's values, states and parameters before anything is derived.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace smelt {

/// The annotation of a value, or the declaration of the state or parameter that it is read from, which are
/// whole where nothing is said.
std::optional<Sharding> written_sharding(const Value& value);
/// Of the state that the node reads or updates.
Sharding sharding_of_state(const Node& node);
/// How operand i of a pack must lie: as its segment of the state.
Sharding sharding_of_segment(const Node& pack, unsigned i);
/// Throws one Error that names every dim that its ranks do not divide, of this graph and of its module.
void require_fitting_shardings(const Graph& graph);

}  // namespace smelt
