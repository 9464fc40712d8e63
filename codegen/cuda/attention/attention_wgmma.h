// Flash attention for sm_90a: the text of the forward and of the backward kernels around a printed body.
//
// A block stays on its multiprocessor and takes work items from a counter. One warp copies tiles by TMA into
// a ring buffer in shared memory; the other warpgroups multiply them with wgmma and keep weights, sums and
// gradients in registers. Tiles in which the body sees no key are never loaded. The backward kernel adds the
// contribution of each tile of keys to dQ in device memory, one after the other in a fixed order, so the bits
// are the same in every run.
//
// The text ends with a function for a kernel of `threads` threads (__launch_bounds__(kThreads, kBlocks)):
//
//   forward   attention(q, k, v maps, Half* o, Half* rest, float* lse, unsigned* counters, SIZES,
//                       strides of o, rest, float scale, const BodyArguments&)
//   backward  attention(q, k, v, d_o maps, const float* lse, const float* delta, Half* dk, Half* dv,
//                       float* sums, unsigned* counters, SIZES, strides of dk, dv, float scale,
//                       const BodyArguments&)
//   dQ        attention(const float* sums, Half* dq, unsigned* counters, heads, queries, strides of dq,
//                       float scale)
//
// `rest` is the rounding residual of o; without a residual the pointer is not read. SIZES are batch, heads,
// group, queries, keys: long longs, as are strides, in elements, along batch, position and head. lse and
// delta are f32[batch, heads, queries]. A launch has
//
//   blocks    multiprocessors * blocks_each, or the number of items if that is smaller: tiles of queries, or
//             of keys, times batch times heads, or heads of keys; for dQ one block per tile of queries
//   counters  2 for the forward kernel; for the backward kernel and dQ's 2 and one per tile of queries:
//             batch * heads * ceil(queries / tiles.queries); zero before the launch, and zero again after
//             dQ's kernel or the forward kernel
//   sums      sum_floats floats per tile of queries; their values before the launch do not matter
//   maps      `const __grid_constant__ TensorMap` parameters, each a CUtensorMap of 16-bit floats of rank 4:
//             base the value's address; sizes (d, position, head, batch), with the head size before padding;
//             strides (position, head, batch) in bytes; box (64, tiles.queries or tiles.keys, 1, 1); element
//             strides 1; no interleaving; 128-byte swizzle; 128-byte L2 promotion; zeros outside.
//
// Requires: elements along d are contiguous, addresses and strides are multiples of 16 bytes, and the scale
// is positive. The other kernels take all other operands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codegen/cuda/attention/attention_hooks.h"
#include "ir/kernel/attention_kernel.h"
#include "runtime/base/dtype.h"

namespace smelt {

struct WgmmaAttention {
  DType dtype = DType::bf16;
  int head_size = 64;
  WgmmaTiles tiles = {};
  AttentionHooks hooks = {};
  bool has_rest = false;  // of the forward kernel
};

struct WgmmaKernelText {
  std::string text;
  int threads = 0, shared_bytes = 0;
  int blocks_each = 1;  // of a multiprocessor
  int sum_floats = 0;   // of a tile of queries of dQ
};

/// Return the tiles; nothing for operands that these kernels do not take. They take head sizes that are
/// multiples of 8, up to 256, or 128 backward; draws that keep or drop weights, with a factor of 0 or one
/// positive number; no sums over queries or keys of gradients of values that the body reads (kernels of their
/// own make those by element).
std::optional<WgmmaTiles> forward_wgmma_tiles(int head_size, const AttentionHooks& hooks);
std::optional<WgmmaTiles> backward_wgmma_tiles(int head_size, const AttentionHooks& hooks);
/// Returns tiles of the same sizes that need fewer registers.
std::optional<WgmmaTiles> lighter_backward_wgmma_tiles(WgmmaTiles tiles);

/// O and LSE.
WgmmaKernelText attention_forward_wgmma(const WgmmaAttention& attention);
/// Returns the kernel of dK and dV, and of the sums that tiles add up to dQ, in the order in which the last
/// kernel reads them.
WgmmaKernelText attention_backward_wgmma(const WgmmaAttention& attention);
/// Returns the kernel that makes dQ from these sums; it leaves the counters zero.
WgmmaKernelText attention_query_gradient_wgmma(const WgmmaAttention& attention);

}  // namespace smelt
