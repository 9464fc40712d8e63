// The back end for NVIDIA GPUs: CUDA C++ that NVRTC compiles.
#include <fmt/format.h>

#include "codegen/code_generator.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/gpu/lower/verify_kernel.h"
#include "codegen/make_plan.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "runtime/cuda/nvrtc.h"

namespace smelt {
namespace {

class CudaCodeGenerator : public CodeGenerator {
 public:
  std::string_view level() const override { return "cuda"; }
  std::string_view language() const override { return "CUDA C++"; }
  std::string_view suffix() const override { return ".cu"; }
  std::string version() const override {
    return nvrtc_info().available ? fmt::format("NVRTC {}.{}", nvrtc_info().major, nvrtc_info().minor) : "";
  }
  std::string problem() const override { return nvrtc_info().problem; }
  bool lists() const override { return true; }
  bool revises_schedules() const override { return true; }
  std::string processor(const Target& target) const override { return target.str(); }
  std::string machine(const Target& target) const override {
    return target.str() + ": " + target.device.str();
  }
  void schedule(Kernel& kernel, const Symbols& symbols, const Target& target) const override {
    if (kernel.attention) return schedule_attention(kernel, symbols, target);
    if (kernel.gemm) return schedule_gemm(kernel, symbols, target);
    schedule_for_gpu(kernel, symbols, target.device);
  }
  std::vector<std::string> verify(const Kernel& kernel) const override { return gpu::verify_kernel(kernel); }
  std::string listing(llvm::ArrayRef<ListedKernel> kernels) const override {
    std::string text;
    for (const auto& [kernel, sources] : kernels)
      text += (text.empty() ? "" : "\n") + emit_cuda(*kernel, sources);
    return text;
  }
  Plan make_plan(Program& program, const Target& target) const override {
    return make_cuda_plan(program, target);
  }
};

}  // namespace

const CodeGenerator& cuda_code_generator() {
  static const CudaCodeGenerator generator;
  return generator;
}

}  // namespace smelt
