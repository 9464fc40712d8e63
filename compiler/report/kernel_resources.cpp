#include "compiler/report/kernel_resources.h"

#include <algorithm>

namespace smelt {

std::optional<KernelResources> kernel_resources(const KernelCode& kernel, const Target& target) {
  const auto code = cubin_resources(kernel.binary, kernel.name);
  if (!code) return std::nullopt;
  const int64_t asked = std::clamp<int64_t>(kernel.shared_bytes, 0, UINT32_MAX);
  const BlockNeeds needs = {kernel.threads, code->registers, code->shared_bytes + asked};
  return KernelResources{
      *code, kernel.threads, asked,
      occupancy(needs, device_model(target.compute_capability), target.compute_capability)};
}

}  // namespace smelt
