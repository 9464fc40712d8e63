// Upper bounds of the symbols (symbolic sizes) of a model's graphs: B (batch), T (length), S (length of a
// source), R (tokens per row that one run of @decode processes), M (tokens of all rows that one run of
// @mixed_pages processes), Q (tiles of prompt tokens in such a run), N (sentences) and K (beams per
// sentence).
#pragma once

#include "frontend/build_transformer.h"

namespace smelt {

/// Bounds B, T and S by BuildOptions::bounds. Default bounds: 8 for B; for T and S, the model's
/// max_positions, or 512 if it has none. Throws Error if the options have a bound for a symbol that does not
/// exist. Throws Error if the bound of a length is larger than the model's learned table of positions.
void bound_symbols(const TransformerSpec& spec, const BuildOptions& options, Symbols& symbols);
/// Sizes of sliding-window KV caches (rings), in tokens per row. `run` is the largest number of tokens that
/// one run of @decode processes, a power of two from 16 to 512. `places` is the size of a ring: window - 1 +
/// run.
struct RingBounds {
  int64_t places = 0, run = 0;
};
/// Returns the sizes of the rings. Returns nothing if there are no rings. This is the case if no block has a
/// window, if caches are in pages, with same_bits, or if a ring would have at least as many positions as the
/// upper bound of T.
std::optional<RingBounds> ring_bounds(const TransformerSpec& spec, const BuildOptions& options,
                                      const Symbols& symbols);
/// Bounds R by `rings.run`. If a product with T has a bound, such as B*T, the same product with R instead of
/// T gets the same bound.
void bound_runs(const RingBounds& rings, Symbols& symbols);
/// Bounds M, the tokens of a run of @mixed_pages, by `step_tokens`, or by the bound of B if that is larger. A
/// tile is up to kTileTokens tokens of one prompt. Bounds Q by the largest number of tiles that M tokens of
/// at most kMostTiledPrompts prompts can need.
void bound_run_tokens(int64_t step_tokens, Symbols& symbols);
/// Bounds N, K and N*K by the bound of B, because N sentences of K beams are N*K rows. K is also at most
/// kMostBeamsAhead (runtime/plan/decode_contract.h), the limit of a beam search.
void bound_beams(Symbols& symbols);

}  // namespace smelt
