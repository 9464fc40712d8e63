// Attention kernels that use the wgmma templates for sm_90a (attention_wgmma.h): whether a kernel can use
// them, the tile sizes, the text, and the tensor maps of a launch.
#pragma once

#include <optional>
#include <vector>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// Compute capability of the only GPUs that can run these kernels (sm_90a).
inline constexpr int kWgmmaCapability = 90;

/// Returns the number of adjacent elements that one access to a matrix of the kernel can read or write, at
/// most 8. The number divides the head size, and the strides and the alignment of the addresses of all
/// matrices.
int64_t attention_access_width(const Kernel& kernel);
/// Returns the bytes per access to keys and values that are codes of 8 bits: a power of two, at most 16.
int64_t codes_access_bytes(const Kernel& kernel);

/// Returns the tiles for the kernel. Returns nothing if the templates do not support the kernel's part, head
/// size, scale, strides or body.
std::optional<WgmmaTiles> wgmma_tiles(const Kernel& kernel);

/// Returns the text of a kernel. `hooks`: the CUDA text of its score_mod (print_hooks in emit_attention.h).
/// Requires: the kernel's tiles are WgmmaTiles.
WgmmaKernelText wgmma_text(const Kernel& kernel, AttentionHooks hooks);
/// Returns the TMA tensor maps of a launch, one per input matrix; none for dQ's kernel, which converts the
/// sums of dQ that the backward kernel has computed.
std::vector<TensorMap> attention_maps(const Kernel& kernel);

/// Sizes, in elements, of the two buffers that the backward kernel and dQ's kernel share (attention_wgmma.h):
/// the f32 sums of dQ, and the i32 counters.
struct WgmmaShared {
  Dim query_sums, counters;
};
/// Returns sizes that suffice for every choice of tiles.
WgmmaShared wgmma_shared(const AttentionKernel& attention);

}  // namespace smelt
