// drop_stops: replaces stop_gradient with its operand once differentiation is over.
//
//   %y = stop_gradient %x; %z = exp %y    =>    %z = exp %x
//
// A stop_gradient would otherwise split a fusion and need memory.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct DropStopsOptions {};
bool drop_stops(Graph& graph, const DropStopsOptions& options);

}  // namespace smelt
