// bind_symbols: every symbol becomes a number, its bound, and the module has no symbols any more.
//
//   symbols N <= 8                          graph @g(%x: f32[8,3]) ..
//   graph @g(%x: f32[N,3]) ..
//
// For graphs that are run without inputs whose shapes would say what N is. Contract: results are those of a
// run at the bounds. An Error where all bounds cannot be reached at once (B <= 4, T <= 4, B*T <= 8).
#pragma once

#include "ir/graph.h"

namespace smelt {

struct BindSymbolsOptions {};
bool bind_symbols(Module& module, const BindSymbolsOptions& options = {});

}  // namespace smelt
