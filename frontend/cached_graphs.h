// Graphs of the entries for generation, which read and extend a KV cache: one row per sequence, or pages. If
// BuildOptions::has_sampler, some of them also sample tokens (docs/guides/generation.md).
#pragma once

#include "frontend/blocks/blocks.h"
#include "frontend/build_transformer.h"

namespace smelt {

/// Adds these graphs and their states to the module. `adapters`: null if the model has none.
void add_cached_graphs(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                       Adapters* adapters);

}  // namespace smelt
