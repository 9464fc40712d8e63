// accumulate_gemms: a product that is added to a part of a state, which is written anew there, is added where
// it is made: y = state + a b becomes one matmul, whose body adds; its step has beta = 1. The product is not
// written and read in between, and is not rounded before it is added.
//
// Only a product of two operands that nobody else reads, and whose sum goes into an update of the same state
// alone. After fuse, before assign_precision. Contract: values differ by that rounding.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct AccumulateGemmsOptions {};
bool accumulate_gemms(Graph& graph, const AccumulateGemmsOptions& options = {});

}  // namespace smelt
