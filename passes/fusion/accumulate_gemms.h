// accumulate_gemms: a matmul whose result is added to a part of a state, and written back there, adds it
// itself: y = state + a b becomes one matmul whose body adds, and its step has beta = 1. The result is not
// written and read in between, and is not rounded before it is added.
//
// Matmuls that add up the product (chunk_rows) begin with the state. Only for a matmul that nobody else
// reads, where the sum goes into an update of the same state alone. Runs after fuse, before assign_precision.
// Contract: values differ by that rounding.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct AccumulateGemmsOptions {};
bool accumulate_gemms(Graph& graph, const AccumulateGemmsOptions& options = {});

}  // namespace smelt
