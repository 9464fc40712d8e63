// Decomposition of arithmetic on integers of 8 and 16 bits, which wraps around at their width:
//
//   %z = add %x, %y : u8[n]        %a = convert %x : i32[n]
//                                  %b = convert %y : i32[n]
//                                  %c = add %a, %b : i32[n]
//                                  %z = convert %c : u8[n]
//
// Kernels compute in 32 bits. Without the converts, a value that stays in one kernel would keep bits that a
// value in memory does not have.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

bool decompose_narrow(Graph& graph);

}  // namespace smelt
