// What the attention kernels for sm_90a share: barriers, TMA, wgmma of a given size, lanes that exchange
// values.
#pragma once

#include <string>
#include <string_view>

#include "codegen/cuda/attention/attention_wgmma.h"

namespace smelt {

/// Whether kernels of both directions may have what heads and body need.
bool wgmma_takes(int head_size, const AttentionHooks& hooks);

/// Sizes as constants, the functions below, and the body.
std::string wgmma_prelude(const WgmmaAttention& attention, std::string_view constants);

/// `begin_NAME` and `multiply_NAME`: d[64, columns] = A B, or += A B, of 16 along k, A from shared memory or
/// registers. A transposed operand's neighbours along k do not lie together.
struct WgmmaShape {
  std::string_view name;
  int columns = 64;
  bool a_in_registers = false, a_transposed = false, b_transposed = false;
};
std::string wgmma_functions(const WgmmaShape& shape, DType dtype);

/// What shared memory that begins at a multiple of 128 bytes loses where tiles begin at multiples of 1024.
constexpr int kAlignmentBytes = 1024 - 128;

namespace wgmma {

/// Of the forward kernel: weights of a tile, work items, and the kernel; of the backward one: items and tiles
/// of queries, gradients of a tile, the order of what is added to dQ, and the kernel; and that of dQ.
extern const std::string_view kWeights, kForwardTiles, kForward, kBackwardTiles, kGradients, kOrder,
    kBackward, kQueryGradient;

}  // namespace wgmma
}  // namespace smelt
