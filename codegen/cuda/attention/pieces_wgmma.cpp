#include "codegen/cuda/attention/wgmma_body.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"

namespace smelt {

bool wgmma_takes(int head_size, const AttentionHooks& hooks) {
  return head_size > 0 && head_size % 8 == 0 && head_size <= 256 && !hooks.draws_in_score &&
         hooks.has_factor == (hooks.draws > 0) && hooks.row_gradients == 0 && hooks.column_gradients == 0;
}

std::string wgmma_prelude(const WgmmaAttention& attention, std::string_view constants) {
  return fmt::format(
      "#define HALF_TYPE \"{}\"\n{}{}{}{}{}constexpr int kOps = kDraws > 0 ? kDraws : 1;\n{}{}{}{}",
      half_text(attention.dtype), hooks_text(attention.hooks), device::kHalves, device::kWgmmaTypes,
      device::kAttentionWgmmaMath, constants, device::kSharedMemory, device::kWgmmaBarriers,
      device::kWgmmaProducts, device::kAttentionWgmmaTiles);
}

}  // namespace smelt
