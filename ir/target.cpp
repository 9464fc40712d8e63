#include "ir/target.h"

#include <algorithm>

#include "ir/analysis/attention_form.h"
#include "ir/analysis/epilogue.h"
#include "ir/analysis/forward_values.h"
#include "runtime/base/error.h"
#include "runtime/plan/device_kind.h"

namespace smelt {
namespace {

std::string known_targets() {
  std::string names = "cpu";
  for (const int capability : named_architectures()) names += fmt::format(", sm_{}", capability);
  return names;
}

}  // namespace

Target::Target()
    : can{.i8_weights = true,
          .i8_products = true,
          .odd_matmuls = true,
          .strided_copies = true,
          .f32_attention_gradient = true} {}

Target Target::gpu(int compute_capability, const DeviceModel& device) {
  Target target;
  target.name = fmt::format("sm_{}", compute_capability);
  target.back_end = BackEnd::cuda;
  target.can = {.own_memory = true,
                .launches = true,
                .tf32 = true,
                .wgmma = compute_capability == 90,  // of sm_90a alone: later ones have others
                .mma_sync = compute_capability >= 80,
                .i8_products = compute_capability >= 80,
                .bias_epilogue = true,
                .scaled_f8 = compute_capability >= 89,
                .attention_kernels = true};
  target.compute_capability = compute_capability;
  target.device = device;
  return target;
}

std::optional<std::string> Target::refuses(const Node& composite, DType storage) const {
  if (!composite.is(Op::attention) && !composite.is(Op::attention_grad)) return "no target takes it whole";
  return can.attention_kernels ? why_no_attention_kernel(composite, storage)
                               : why_no_blocked_attention(composite);
}

/// Every library adds to what is where the result goes (beta = 1); cuBLASLt also adds a bias to rows, and
/// scales products of f8e4m3. Where bits are the same in every entry, a sum is rounded before anything is
/// added to it.
bool Target::keeps_body(const Node& matmul) const {
  const auto found = epilogue(matmul);
  if (!found || adds_in_order(matmul)) return false;
  const bool scales = can.scaled_f8 && matmul.operand(0)->dtype() == DType::f8e4m3;
  if (!found->scales.empty() && !scales) return false;
  return found->kind != Epilogue::Kind::row || (can.bias_epilogue && has_rows(matmul));
}

bool Target::adds_in_order(const Node& matmul) const {
  return same_bits && can.mma_sync && matmul.phase == Phase::forward &&
         forward_values(matmul.graph()).contains(matmul.result());
}

Target parse_target(std::string_view text) {
  Target target;
  if (text == target.name) return target;
  for (const int capability : named_architectures())
    if (target = Target::gpu(capability, device_model(capability)); text == target.name) return target;
  fail("target '{}' is not known; there are: {}", text, known_targets());
}

Target target_of_plan(std::string_view target) {
  if (!device_kind(target).own_memory) return {};
  const int capability = architecture(target);
  return Target::gpu(capability, device_model(capability));
}

}  // namespace smelt
