// bind_symbols: replaces every symbol with its bound, so that the module has no symbols.
//
//   symbols N <= 8                          graph @g(%x: f32[8,3]) ..
//   graph @g(%x: f32[N,3]) ..
//
// It serves graphs that run without inputs whose shapes would define N. Ensures: results are those of a run
// at the bounds. Throws Error if all bounds cannot be reached at once (B <= 4, T <= 4, B*T <= 8).
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

struct BindSymbolsOptions {};
bool bind_symbols(Module& module, const BindSymbolsOptions& options = {});

}  // namespace smelt
