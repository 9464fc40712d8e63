// Kernels of attention with templates for sm_90a: their legality, their tiles, and the arguments of a launch.
#pragma once

#include <optional>
#include <vector>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// Compute capability of the only GPUs that can run these kernels (sm_90a).
inline constexpr int kWgmmaCapability = 90;

/// Returns the largest number of elements per access, at most 8, with which all matrices can be read and
/// written: it divides their strides, the alignment of their addresses and the head size.
int64_t attention_access_width(const Kernel& kernel);

/// Returns the tiles for the kernel. Returns nothing if the templates do not support the kernel's part, head
/// size, scale, strides or body.
std::optional<WgmmaTiles> wgmma_tiles(const Kernel& kernel);

/// Returns the text of a kernel whose tiles are WgmmaTiles. `hooks`: the kernel's body
/// (print_hooks in emit_attention.h).
WgmmaKernelText wgmma_text(const Kernel& kernel, AttentionHooks hooks);
/// Returns the TMA tensor maps of a launch, one per input matrix; none for the kernel of dQ.
std::vector<TensorMap> attention_maps(const Kernel& kernel);

/// Numbers of elements of the buffers that the two gradient kernels share: the f32 sums of dQ, and the i32
/// counters (attention_wgmma.h).
struct WgmmaShared {
  Dim query_sums, counters;
};
/// Returns these numbers, as large as any choice of tiles requires.
WgmmaShared wgmma_shared(const AttentionKernel& attention);

}  // namespace smelt
