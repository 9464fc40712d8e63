// Pieces of text of the kernels of attention_mma.h.
#pragma once

#include <string_view>

namespace smelt::mma {

extern const std::string_view kInstructions;
/// Shared memory, fragments, products of tiles, and the position of a block in the batch.
extern const std::string_view kTiles;
/// Random numbers of a tile, and the body's functions called for its elements.
extern const std::string_view kElements;
/// Weights and their gradients from the two products, for the kernels of the backward pass.
extern const std::string_view kGradients;

extern const std::string_view kForward, kKeyGradients, kQueryGradients, kElementGradient;

}  // namespace smelt::mma
