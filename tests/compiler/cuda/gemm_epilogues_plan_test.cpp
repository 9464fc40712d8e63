// Kernels that multiply and go on with the result compile, for every order of the operands, to code that
// needs registers alone and multiplies asynchronously.
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/support/gemm_epilogues.h"

namespace smelt::gemm_epilogues {
namespace {

/// Returns the fused kernel of the module of a seed.
KernelCode fused_kernel(uint64_t seed, CompileOptions options, const std::string& target) {
  options.target = target;
  const Plan plan = compile(parse_module(module_text(seed)), options).plan;
  EXPECT_EQ(std::ranges::count_if(plan.kernels, has_template), 1);
  const auto found = std::ranges::find_if(plan.kernels, has_template);
  return found == plan.kernels.end() ? KernelCode() : *found;
}

void expect_lean(const KernelCode& kernel, int capability) {
  const Cubin cubin = compile_cuda({kernel.source, kernel.name, kernel.only_capability}, capability);
  EXPECT_TRUE(is_lean(cubin.resources))
      << "sm_" << capability << ": " << cubin.resources.spill_bytes << " bytes spilled, "
      << cubin.resources.serial_products << " serial products";
}

TEST(GemmEpiloguePlans, AreLean) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    SCOPED_TRACE(fmt::format("{}\n{}", seed, module_text(seed)));
    expect_lean(fused_kernel(seed, options_of(seed), "sm_90"), 90);
  }
}

TEST(GemmEpiloguePlans, AreLeanOnAllGpus) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    SCOPED_TRACE(fmt::format("{}\n{}", seed, module_text(seed)));
    const KernelCode kernel = fused_kernel(seed, options_of(seed), "sm_80");
    EXPECT_EQ(kernel.only_capability, 0);
    for (const int capability : {80, 90, 100}) expect_lean(kernel, capability);
  }
}

}  // namespace
}  // namespace smelt::gemm_epilogues
