// Graphs of the entries for generation. They read and extend KV caches, which have one row per sequence or
// consist of pages. If BuildOptions::has_sampler, some of these graphs also sample tokens
// (docs/guides/generation.md).
#pragma once

#include "frontend/blocks/blocks.h"
#include "frontend/build_transformer.h"

namespace smelt {

/// The adapters of a model, and its slots for adapters; null: it has none.
struct AdaptersOfGraphs {
  Adapters* adapters = nullptr;
  AdapterSlots* slots = nullptr;
};

/// Adds the graphs and the states of their caches to the module.
void add_cached_graphs(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                       AdaptersOfGraphs adapters);

}  // namespace smelt
