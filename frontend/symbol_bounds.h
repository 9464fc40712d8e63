// Upper bounds of the symbols of a model's graphs.
#pragma once

#include "frontend/build_transformer.h"

namespace smelt {

/// Bounds the symbols. Without a bound in the options, lengths are bounded by the model's own maximum, or by
/// 512. Throws Error if the options bound a symbol that does not exist, or by more than the model's
/// positions.
void bound_symbols(const TransformerSpec& spec, const BuildOptions& options, Symbols& symbols);
/// Size of sliding-window KV caches: rings with the positions of the window and those of one run of @decode,
/// together a power of two.
struct RingBounds {
  int64_t places = 0, run = 0;
};
/// Returns nothing if no block has a window, if such a ring would have at least as many positions as a row
/// has tokens, or if caches are in pages.
std::optional<RingBounds> ring_bounds(const TransformerSpec& spec, const BuildOptions& options,
                                      const Symbols& symbols);
/// Bounds R, the tokens of one run, by the rings and by the bounds of products with T.
void bound_runs(const RingBounds& rings, Symbols& symbols);
/// Bounds the rows of N sentences of K beams by the bound of B.
void bound_beams(Symbols& symbols);

}  // namespace smelt
