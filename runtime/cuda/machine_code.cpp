#include "runtime/cuda/machine_code.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/error.h"

namespace smelt::cuda {
namespace {

/// Machine code runs on later minor versions of its architecture, and nowhere else; with instructions of one
/// architecture alone on that.
bool runs_on(const Plan& plan, int device) {
  const int made_for = std::atoi(plan.target.c_str() + 3);
  const auto portable = [](const KernelCode& kernel) { return kernel.only_capability == 0; };
  if (made_for == device) return true;
  return made_for / 10 == device / 10 && made_for < device && std::ranges::all_of(plan.kernels, portable);
}

MachineCode own_code(const Plan& plan) {
  MachineCode code;
  for (const KernelCode& kernel : plan.kernels) {
    if (kernel.binary.empty())
      fail_with(Status::invalid_file, "kernel '{}' of the plan has no machine code: compile it again",
                kernel.name);
    code.cubins.emplace_back(kernel.binary);
  }
  return code;
}

std::vector<CudaSource> sources_of(const Plan& plan) {
  std::vector<CudaSource> sources;
  for (const KernelCode& kernel : plan.kernels) {
    if (kernel.source.empty()) fail("the plan has no source of kernel '{}'", kernel.name);
    sources.push_back({kernel.source, kernel.name, kernel.only_capability});
  }
  return sources;
}

MachineCode made_again(const Plan& plan, int compute_capability, const NvrtcInfo& nvrtc) {
  if (!nvrtc.available) fail("{}", nvrtc.problem);
  MachineCode code;
  code.made = compile_cuda(sources_of(plan), compute_capability);
  for (const Cubin& cubin : code.made) code.cubins.emplace_back(cubin.bytes);
  return code;
}

}  // namespace

MachineCode machine_code(const Plan& plan, const DeviceInfo& device, const NvrtcInfo& nvrtc) {
  if (runs_on(plan, device.compute_capability)) return own_code(plan);
  try {
    return made_again(plan, device.compute_capability, nvrtc);
  } catch (const Error& error) {
    fail_with(
        Status::unavailable,
        "the plan is for {}, this machine's {} is sm_{}, and its kernels cannot be made again for it: {}; "
        "compile the model with --target=sm_{}",
        plan.target, device.name, device.compute_capability, error.what(), device.compute_capability);
  }
}

}  // namespace smelt::cuda
