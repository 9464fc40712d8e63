// Flash attention for sm_90a: the text of the forward and backward kernels, which call the functions of a
// score_mod ("body", attention_hooks.h).
//
// The kernels are persistent: each thread block processes work items, whose numbers it takes from a counter
// in device memory, until no items are left. One warp copies tiles by TMA into a ring buffer in shared
// memory. The other warpgroups multiply them with wgmma and keep weights, sums and gradients in registers.
// Tiles that the mask excludes are not loaded. The backward kernel keeps f32 sums of dQ in device memory, and
// adds the contributions of the tiles of keys in a fixed order, so every run gives the same bits. A third
// kernel, "dQ" below, then rounds these sums to dQ.
//
// The text ends with one function, `attention`. The kernel of a launch only calls it. Half is a 16-bit
// integer with the bits of a bf16 or f16:
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
// group, queries, keys. "strides" are three numbers per matrix, in elements: along batch, position and head.
// Sizes and strides are long longs. lse (the log-sum-exp of a query's scores) and delta (dO . O of a query)
// are f32[batch, heads, queries]. BodyArguments are the arguments of the score_mod. A launch needs:
//
//   blocks    for the forward and the backward kernel, blocks_each blocks per multiprocessor of the GPU, but
//             at most one per item. An item of the forward kernel is a tile of queries of one query head; an
//             item of the backward kernel is a tile of keys of one key head. dQ's kernel has one block per
//             tile of queries of one query head
//   counters  2 for the forward kernel. The backward kernel and dQ's kernel share 2 + batch * heads *
//             ceil(queries / tiles.queries). They must be zero before the forward kernel or the backward
//             kernel starts. The forward kernel and dQ's kernel set their counters to zero again
//   sums      sum_floats floats per tile of queries of each query head; their values before the launch of the
//             backward kernel do not matter
//   maps      `const __grid_constant__ TensorMap` parameters, each a CUtensorMap of 16-bit floats of rank 4:
//             base the value's address; sizes (head_size, positions, heads, batch), even if head_size is not
//             a multiple of 64; strides (position, head, batch) in bytes; box (64, tiles.queries or
//             tiles.keys, 1, 1); element strides 1; no interleaving; 128-byte swizzle; 128-byte L2 promotion;
//             zeros outside.
//
// Requires: elements along d are contiguous, addresses and strides are multiples of 16 bytes, and the scale
// is positive. The kernels of attention_mma.h support other operands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codegen/cuda/attention/attention_hooks.h"
#include "ir/kernel/attention_kernel.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// Everything that determines the text of these kernels.
struct WgmmaAttention {
  DType dtype = DType::bf16;
  int head_size = 64;
  WgmmaTiles tiles = {};
  AttentionHooks hooks = {};
  bool has_rest = false;  // the forward kernel also stores the rounding residual of o
};

/// The text of one kernel, and the sizes of its launch.
struct WgmmaKernelText {
  std::string text;
  int threads = 0, shared_bytes = 0;  // per block; the shared memory is dynamic
  int blocks_each = 1;                // blocks per multiprocessor
  int sum_floats = 0;                 // number of f32 sums of dQ per tile of queries
};

/// Return the tiles that the kernels use, or nothing if the kernels do not support the head size or the body.
/// They support head sizes that are multiples of 8, up to 256 (backward: up to 128). The body may use random
/// numbers only for dropout. It may have gradients per element of the scores, but none that are summed over
/// rows or columns of the scores.
std::optional<WgmmaTiles> forward_wgmma_tiles(int head_size, const AttentionHooks& hooks);
std::optional<WgmmaTiles> backward_wgmma_tiles(int head_size, const AttentionHooks& hooks);
/// Returns `tiles` with a setting that makes the kernel use fewer registers, or nothing if `tiles` has this
/// setting already.
std::optional<WgmmaTiles> lighter_backward_wgmma_tiles(WgmmaTiles tiles);

/// Returns the kernel of O and LSE.
WgmmaKernelText attention_forward_wgmma(const WgmmaAttention& attention);
/// Returns the kernel of dK, dV and the f32 sums of dQ. The sums are stored in the order in which dQ's kernel
/// reads them, not row by row.
WgmmaKernelText attention_backward_wgmma(const WgmmaAttention& attention);
/// Returns dQ's kernel, which rounds the f32 sums to dQ.
WgmmaKernelText attention_query_gradient_wgmma(const WgmmaAttention& attention);

}  // namespace smelt
