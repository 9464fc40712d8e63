#include "codegen/cuda/attention/attention_hooks.h"

#include <fmt/format.h>

namespace smelt {

std::string hooks_text(const AttentionHooks& hooks) {
  return fmt::format(
      "#define SM static __device__ __forceinline__\n"
      "constexpr int kDraws = {}, kRowGradients = {}, kColumnGradients = {}, kElementGradients = {};\n"
      "constexpr bool kDrawsInScore = {}, kHasFactor = {}, kPlainWhenUnmasked = {};\n"
      "constexpr float kKeptFactor = {:a}f;\n{}",
      hooks.draws, hooks.row_gradients, hooks.column_gradients, hooks.element_gradients, hooks.draws_in_score,
      hooks.has_factor, hooks.plain_when_unmasked, static_cast<float>(hooks.kept_factor), hooks.text);
}

}  // namespace smelt
