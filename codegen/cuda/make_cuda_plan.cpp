// A program as a plan for an NVIDIA GPU: every kernel's text and its cubin, compiled in parallel.
#include <map>
#include <set>

#include "codegen/code_generator.h"
#include "codegen/cuda/attention/wgmma_kernel.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/gemm/emit_gemm.h"
#include "codegen/cuda/template_kernels.h"
#include "codegen/launches/launch_passes.h"
#include "codegen/make_plan.h"
#include "codegen/scheduling/schedule.h"
#include "runtime/cuda/nvrtc.h"

namespace smelt {

namespace {

CudaSource source_of(const Kernel& kernel, const std::vector<std::string>& sources) {
  const bool is_own = kernel.attention && kernel.attention->wgmma();
  return {emit_cuda(kernel, sources), kernel.name,
          is_own                                   ? kWgmmaCapability
          : kernel.gemm && kernel.gemm->is_wgmma() ? kGemmCapability
                                                   : 0,
          !kernel.in_order};
}

/// Kernels whose code spills get a lighter schedule and are compiled again.
std::vector<Cubin> compile_lean(Program& program, std::vector<CudaSource>& texts,
                                llvm::ArrayRef<ListedKernel> listed, int compute_capability) {
  std::vector<Kernel>& kernels = program.kernels;
  std::vector<Cubin> cubins = compile_cuda(texts, compute_capability);
  for (bool again = true; again;) {
    std::set<size_t> heavy;
    std::vector<CudaSource> lighter;
    for (size_t i = 0; i < kernels.size(); ++i)
      if (!is_lean(cubins[i].resources) && lighten_schedule(kernels[i])) heavy.insert(i);
    for (const size_t i : leave_shared_templates(program)) heavy.insert(i);
    for (const size_t i : heavy) lighter.push_back(texts[i] = source_of(kernels[i], listed[i].sources));
    std::vector<Cubin> fresh = compile_cuda(lighter, compute_capability);
    for (size_t next = 0; const size_t i : heavy) cubins[i] = std::move(fresh[next++]);
    again = !heavy.empty();
  }
  // A body that fits the registers of no tile runs all the same: slower than it could, but right.
  const auto takes_any_body = [&](size_t i) { return i < kernels.size() && kernels[i].has_template(); };
  for (size_t i = 0; i < cubins.size(); ++i)
    if (!takes_any_body(i)) require_lean(texts[i], cubins[i].resources);
  return cubins;
}

std::vector<bool> heavy_kernels(const Program& program, const std::vector<Cubin>& cubins) {
  std::vector<bool> heavy;
  for (size_t i = 0; i < program.kernels.size(); ++i) heavy.push_back(!is_lean(cubins[i].resources));
  return heavy;
}

/// Kernels that are left have their code by name: others may have been between them.
void add_code(Plan& plan, std::vector<CudaSource>& texts, std::vector<Cubin>& cubins) {
  std::map<std::string, size_t> number;
  for (size_t i = 0; i < texts.size(); ++i) number[texts[i].name] = i;
  for (KernelCode& kernel : plan.kernels) {
    const size_t i = number.at(kernel.name);
    kernel.source = std::move(texts[i].text);
    kernel.binary = std::move(cubins[i].bytes);
  }
}

}  // namespace

Plan make_cuda_plan(Program& program, const Target& target) {
  std::vector<Kernel>& kernels = program.kernels;
  const std::vector<ListedKernel> listed = listed_kernels(program);
  std::vector<CudaSource> texts;
  for (size_t i = 0; i < kernels.size(); ++i) texts.push_back(source_of(kernels[i], listed[i].sources));
  for (const TemplateKernel& kernel : template_kernels(program, target.compute_capability))
    texts.push_back({kernel.code.source, kernel.code.name, 0, !target.same_bits});
  std::vector<Cubin> cubins = compile_lean(program, texts, listed, target.compute_capability);
  drop_alternatives(program, heavy_kernels(program, cubins));
  Plan plan = plan_without_code(program);
  plan.target = target.str();
  add_templates(plan, template_kernels(program, target.compute_capability));
  add_code(plan, texts, cubins);
  for (KernelCode& kernel : plan.kernels) kernel.contracts = !target.same_bits;
  return plan;
}

}  // namespace smelt
