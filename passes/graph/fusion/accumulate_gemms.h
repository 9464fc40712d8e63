// accumulate_gemms: a matmul whose result is added to a part of a state, and written back there, accumulates
// in the state's memory itself.
//
//   %y = matmul %a, %b                      %y = matmul %a, %b (%acc, %c = %s) { return add %acc, %c }
//   %z = add %s, %y                   =>    update %y {state = "s"}, where %s = state "s"
//   update %z {state = "s"}
//
// The library call of the new matmul has beta = 1. The product is neither stored nor rounded before it is
// added. A chain of matmuls that accumulate one product (chunk_rows) starts with the state. It applies if no
// other node reads the matmul and the sum goes only into an update of the same state. Runs after fuse and
// before assign_precision. Ensures: values differ only by that rounding.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct AccumulateGemmsOptions {};
bool accumulate_gemms(Graph& graph, const AccumulateGemmsOptions& options = {});

}  // namespace smelt
