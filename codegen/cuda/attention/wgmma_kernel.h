// Kernels of attention with templates for sm_90a: their legality, their tiles, and the arguments of a launch.
#pragma once

#include <optional>
#include <vector>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// Compute capability of the GPU whose instructions these kernels have.
inline constexpr int kWgmmaCapability = 90;

/// Returns the elements of one access to any of the matrices: it divides their strides, their begins and the
/// width.
int64_t attention_access_width(const Kernel& kernel);

/// Returns the tiles; nothing where the templates do not take the part, its heads, strides or body.
std::optional<WgmmaTiles> wgmma_tiles(const Kernel& kernel);

/// Returns the text of a kernel that has its tiles.
WgmmaKernelText wgmma_text(const Kernel& kernel, AttentionHooks hooks);
std::vector<TensorMap> attention_maps(const Kernel& kernel);

/// Returns the elements of the buffers that the two gradients share, for any tiles.
struct WgmmaShared {
  Dim query_sums, counters;
};
WgmmaShared wgmma_shared(const AttentionKernel& attention);

}  // namespace smelt
