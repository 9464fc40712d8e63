// Kernels of attention that templates for sm_90a take: which, their tiles, and what a launch gives them.
#pragma once

#include <optional>
#include <vector>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "ir/kernel.h"

namespace smelt {

/// Of the GPU whose instructions they have.
inline constexpr int kWgmmaCapability = 90;

/// Elements of one access to any of the matrices: what divides their strides, their begins and the width.
int64_t attention_access_width(const Kernel& kernel);

/// Nothing where the templates do not take the part, its heads, strides or body.
std::optional<WgmmaTiles> wgmma_tiles(const Kernel& kernel);

/// Of a kernel that has its tiles.
WgmmaKernelText wgmma_text(const Kernel& kernel, AttentionHooks hooks);
std::vector<TensorMap> attention_maps(const Kernel& kernel);

/// Elements of what the two gradients share, whatever their tiles.
struct WgmmaShared {
  Dim query_sums, counters;
};
WgmmaShared wgmma_shared(const AttentionKernel& attention);

}  // namespace smelt
