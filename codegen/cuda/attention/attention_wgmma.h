// Flash attention for sm_90a: the text of the forward and of the backward kernels around a printed body.
//
// A block keeps its multiprocessor and takes work items from a counter. One warp of its first warpgroup
// copies tiles by TMA into a ring of shared memory; the other warpgroups multiply them with wgmma and keep
// weights, sums and gradients in registers. A body is what docs/attention.md calls the printed functions
// over one score; tiles of which it says that no key is seen are never loaded.
//
// Values are [b,t,h,d] with d last and dense; base addresses and strides are multiples of 16 bytes, and so
// is the row of a head: other operands are the other kernels'. The scale is positive.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codegen/cuda/attention/attention_hooks.h"
#include "runtime/dtype.h"

namespace smelt {

/// Work of a block at a time, its ring, and its warpgroups beside the copying one.
struct WgmmaTiles {
  int queries = 128, keys = 128, stages = 2, consumers = 2;
  int query_stages = 1;    // of the forward kernel: the next item's queries come early
  bool takes_turns = true;  // its consumers: one multiplies while another takes exponentials
};

struct WgmmaAttention {
  DType dtype = DType::bf16;
  int head_size = 64;
  WgmmaTiles tiles;
  AttentionHooks hooks = {};
};

struct WgmmaKernelText {
  std::string text;
  int threads = 0, shared_bytes = 0;
};

/// Whether the kernels have what a body needs: draws that keep or drop weights (the factor is 0, or one positive
/// number), and no gradients of what it reads.
bool wgmma_takes(const AttentionHooks& hooks, int head_size);

/// Nothing: the head size is too large, or no multiple of 8.
std::optional<WgmmaTiles> forward_wgmma_tiles(int head_size, bool draws);
std::optional<WgmmaTiles> backward_wgmma_tiles(int head_size, bool draws);

/// O and LSE.
WgmmaKernelText attention_forward_wgmma(const WgmmaAttention& attention);
/// dK and dV, and what the queries' tiles add up to dQ, in the order in which the last kernel reads it.
WgmmaKernelText attention_backward_wgmma(const WgmmaAttention& attention);
/// dQ from those sums; it leaves the counters zero.
WgmmaKernelText attention_query_gradient_wgmma(const WgmmaAttention& attention);

}  // namespace smelt
