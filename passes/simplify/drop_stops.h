// drop_stops: stop_gradient becomes its operand, which splits no fusion and needs no memory. Runs when the
// graph will not be differentiated any more.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct DropStopsOptions {};
bool drop_stops(Graph& graph, const DropStopsOptions& options);

}  // namespace smelt
