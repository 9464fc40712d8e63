// Kernels that multiply and go on with the result compile, for every order of the operands, to code that
// needs registers alone and multiplies asynchronously.
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/support/gemm_epilogues.h"

namespace smelt::gemm_epilogues {
namespace {

TEST(GemmEpiloguePlans, AreLean) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    const std::string text = module_text(seed);
    SCOPED_TRACE(fmt::format("{}\n{}", seed, text));
    CompileOptions options = options_of(seed);
    options.target = "sm_90";
    const Plan plan = compile(parse_module(text), options).plan;
    int found = 0;
    for (const KernelCode& kernel : plan.kernels) {
      if (!has_template(kernel)) continue;
      ++found;
      const Cubin cubin = compile_cuda({kernel.source, kernel.name, 90}, 90);
      EXPECT_TRUE(is_lean(cubin.resources)) << cubin.resources.spill_bytes << " bytes spilled, "
                                            << cubin.resources.serial_products << " serial products";
    }
    EXPECT_EQ(found, 1);
  }
}

}  // namespace
}  // namespace smelt::gemm_epilogues
