#include "runtime/cuda/loaded_kernels.h"

#include "runtime/base/error.h"
#include "runtime/cuda/machine_code.h"

namespace smelt::cuda {
namespace {

constexpr int kMaxDynamicShared = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

void check_kernel(Driver::Code code, const char* what, const KernelCode& kernel) {
  if (code != 0) check(code, fmt::format("{} kernel '{}'", what, kernel.name).c_str());
}

ModuleOwner load(const KernelCode& kernel, std::span<const std::byte> cubin) {
  Module module = nullptr;
  if (const int code = driver().ModuleLoadData(&module, cubin.data()); code != 0)
    fail_with(Status::unavailable,
              "GPU: loading kernel '{}' failed: {}; the driver is for CUDA {}: code from a later toolkit "
              "needs a newer "
              "driver",
              kernel.name, describe(code), driver_cuda_version());
  return ModuleOwner(module);
}

Function function_of(Module module, const KernelCode& kernel) {
  Function function = nullptr;
  check_kernel(driver().ModuleGetFunction(&function, module, kernel.name.c_str()), "finding", kernel);
  if (kernel.shared_bytes > kPlainSharedBytes)
    check_kernel(
        driver().FuncSetAttribute(function, kMaxDynamicShared, static_cast<int>(kernel.shared_bytes)),
        "giving shared memory to", kernel);
  return function;
}

}  // namespace

LoadedKernels::LoadedKernels(const Plan& plan, const Device& device) {
  const MachineCode code = machine_code(plan, device.info());
  device.make_current();
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    if (code.cubins[i].empty()) {
      functions_.push_back(nullptr);
      continue;
    }
    modules_.push_back(load(plan.kernels[i], code.cubins[i]));
    functions_.push_back(function_of(modules_.back().get(), plan.kernels[i]));
  }
}

}  // namespace smelt::cuda
