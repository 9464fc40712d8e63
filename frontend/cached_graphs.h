// Entries for generation: they cache keys and values, as whole rows or pages, and sample tokens if the plan
// does that (docs/generation.md).
#pragma once

#include "frontend/blocks/blocks.h"
#include "frontend/build_transformer.h"

namespace smelt {

void add_cached_graphs(Module& module, const TransformerSpec& spec, const BuildOptions& options,
                       Adapters* adapters);

}  // namespace smelt
