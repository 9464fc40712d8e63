// How large the symbols of a model's graphs may be.
#pragma once

#include "frontend/build_transformer.h"

namespace smelt {

/// Lengths are bounded by the model's own maximum, or by 512, where the options give no bound. Throws Error
/// where the options bound what there is not, or by more than the model has positions.
void bound_symbols(const TransformerSpec& spec, const BuildOptions& options, Symbols& symbols);
/// N sentences of K beams have as many rows as B may be.
void bound_beams(Symbols& symbols);

}  // namespace smelt
