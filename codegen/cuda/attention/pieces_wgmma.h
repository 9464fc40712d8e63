// The begin of the text of attention kernels for sm_90a (codegen/cuda/device/attention/wgmma/).
#pragma once

#include <string>
#include <string_view>

#include "codegen/cuda/attention/attention_wgmma.h"
#include "codegen/cuda/wgmma_text.h"

namespace smelt {

/// Returns whether kernels of both directions take the head size and the body.
bool wgmma_takes(int head_size, const AttentionHooks& hooks);

/// Returns the text up to tiles.cuh, with `constants` of the kernel.
std::string wgmma_prelude(const WgmmaAttention& attention, std::string_view constants);

}  // namespace smelt
