// Upper bounds of the symbols (symbolic sizes) of a model's graphs: B (batch), T (length), S (length of a
// source), R (tokens per row that one run of @decode processes), M (tokens of all rows that one run of
// @mixed_pages processes), Q (tiles of prompt tokens in such a run), N (sentences) and K (beams per
// sentence).
#pragma once

#include "frontend/build_transformer.h"

namespace smelt {

/// Bounds B, T and S by BuildOptions::bounds. Default bounds: 8 for B; for T and S, the model's
/// max_positions, or 512 if it has none. Throws Error if the options bound a symbol that does not exist, or
/// bound a length by more than the size of the model's learned table of positions.
void bound_symbols(const TransformerSpec& spec, const BuildOptions& options, Symbols& symbols);
/// Sizes of sliding-window KV caches (rings). `run` is the largest number of tokens per row in one run of
/// @decode, a power of two from 16 to 512. A ring has `places` = window - 1 + run positions per row.
struct RingBounds {
  int64_t places = 0, run = 0;
};
/// Returns the sizes of the rings. Returns nothing if the model needs none: if no block has a window, if a
/// ring would have at least as many positions as the upper bound of T, or if caches are in pages.
std::optional<RingBounds> ring_bounds(const TransformerSpec& spec, const BuildOptions& options,
                                      const Symbols& symbols);
/// Bounds R by `rings.run`. For every product with T that has a bound, such as B*T, also gives the product
/// with R instead of T (B*R) the same bound.
void bound_runs(const RingBounds& rings, Symbols& symbols);
/// Bounds M, the tokens of a run of @mixed_pages, by `step_tokens`, or by the bound of B if that is larger.
/// Bounds Q by the largest number of tiles (kTileTokens tokens of one prompt) in which M tokens of
/// kMostTiledPrompts prompts can be divided.
void bound_run_tokens(int64_t step_tokens, Symbols& symbols);
/// Bounds N, K and N*K by the bound of B, because N sentences of K beams are N*K rows. K is also at most
/// kMostBeamsAhead (runtime/plan/decode_contract.h), the limit of a beam search.
void bound_beams(Symbols& symbols);

}  // namespace smelt
