// Graphs of the entries for generation: they cache keys and values, one row per sequence or in pages, and
// sample tokens if BuildOptions::has_sampler (docs/guides/generation.md).
#pragma once

#include "frontend/blocks/blocks.h"
#include "frontend/build_transformer.h"

namespace smelt {

/// Adds these graphs and their states to the module. `adapters`: null if the model has none.
void add_cached_graphs(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                       Adapters* adapters);

}  // namespace smelt
