// How large the symbols of a model's graphs may be.
#pragma once

#include "frontend/build_transformer.h"

namespace smelt {

/// Lengths are bounded by the model's own maximum, or by 512, where the options give no bound. Throws Error
/// where the options bound what there is not, or by more than the model has positions.
void bound_symbols(const TransformerSpec& spec, const BuildOptions& options, Symbols& symbols);
/// How the caches of blocks with a window are kept: as rings of the window's places and those of one run of
/// @decode, which are a power of two.
struct RingBounds {
  int64_t places = 0, run = 0;
};
/// Nothing where no block has a window, where such a ring would have no fewer places than a row has tokens,
/// and where caches are in pages.
std::optional<RingBounds> ring_bounds(const TransformerSpec& spec, const BuildOptions& options,
                                      const Symbols& symbols);
/// R, the tokens of one run, is bounded by them, and by what products with T say.
void bound_runs(const RingBounds& rings, Symbols& symbols);
/// N sentences of K beams have as many rows as B may be.
void bound_beams(Symbols& symbols);

}  // namespace smelt
