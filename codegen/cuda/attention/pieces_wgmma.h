// Text that the attention kernels for sm_90a share: copies of tiles, the body, work items.
#pragma once

#include <string>
#include <string_view>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "codegen/cuda/wgmma_text.h"

namespace smelt {

/// Returns whether kernels of both directions take the head size and the body.
bool wgmma_takes(int head_size, const AttentionHooks& hooks);

/// Sizes as constants, the functions below, and the body.
std::string wgmma_prelude(const WgmmaAttention& attention, std::string_view constants);

namespace wgmma {

/// Parts of the forward kernel: weights of a tile, work items, and the kernel; of the backward kernel: items
/// and tiles of queries, gradients of a tile, the order of the additions to dQ, and the kernel; and the
/// kernel of dQ.
extern const std::string_view kWeights, kForwardTiles, kForward, kBackwardTiles, kGradients, kOrder,
    kBackward, kQueryGradient;

}  // namespace wgmma
}  // namespace smelt
