// What the attention kernels for sm_90a share: copies of tiles, the body, work items.
#pragma once

#include <string>
#include <string_view>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "codegen/cuda/wgmma_text.h"

namespace smelt {

/// Whether kernels of both directions may have what heads and body need.
bool wgmma_takes(int head_size, const AttentionHooks& hooks);

/// Sizes as constants, the functions below, and the body.
std::string wgmma_prelude(const WgmmaAttention& attention, std::string_view constants);

namespace wgmma {

/// Of the forward kernel: weights of a tile, work items, and the kernel; of the backward one: items and tiles
/// of queries, gradients of a tile, the order of what is added to dQ, and the kernel; and that of dQ.
extern const std::string_view kWeights, kForwardTiles, kForward, kBackwardTiles, kGradients, kOrder,
    kBackward, kQueryGradient;

}  // namespace wgmma
}  // namespace smelt
