// The entries that generate: they keep keys and values in caches, whole rows or pages of them, and choose
// tokens where the plan does that (docs/generation.md).
#pragma once

#include "frontend/blocks/blocks.h"
#include "frontend/build_transformer.h"

namespace smelt {

void add_cached_graphs(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                       Adapters* adapters);

}  // namespace smelt
