#include "codegen/cuda/attention/attention_hooks.h"

#include <fmt/format.h>

namespace smelt {

std::string hooks_text(const AttentionHooks& hooks) {
  const KeptDraws kept = hooks.kept.value_or(KeptDraws{});
  return fmt::format(
      "#define SM static __device__ __forceinline__\n"
      "constexpr int kDraws = {}, kRowGradients = {}, kColumnGradients = {}, kElementGradients = {};\n"
      "constexpr bool kDrawsInScore = {}, kHasFactor = {}, kPlainWhenUnmasked = {};\n"
      "constexpr bool kKeepsFrom = {};\nconstexpr unsigned kKeptFrom = {};\n"
      "constexpr float kKeptFactor = {:a}f;\n{}",
      hooks.draws, hooks.row_gradients, hooks.column_gradients, hooks.element_gradients, hooks.draws_in_score,
      hooks.has_factor, hooks.plain_when_unmasked, kept.keeps_from, kept.from,
      static_cast<float>(kept.factor), hooks.text);
}

}  // namespace smelt
