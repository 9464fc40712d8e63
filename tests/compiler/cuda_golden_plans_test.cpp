// Every kernel of the golden models compiles for a GPU to code without stack frames and spills.
#include <gtest/gtest.h>

#include "codegen/cuda/emit_cuda.h"
#include "compiler/compile.h"
#include "frontend/description.h"
#include "runtime/cuda/nvrtc.h"

namespace smelt {
namespace {

struct PlanCase {
  const char* model;
  Mode mode;
  DType storage;
};

class CudaGoldenPlans : public ::testing::TestWithParam<PlanCase> {};

/// make_plan refuses what is not lean.
TEST_P(CudaGoldenPlans, Compile) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  const PlanCase& c = GetParam();
  CompileOptions options;
  options.target = "sm_90";
  options.mode = c.mode;
  options.storage = c.storage;
  const auto directory = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / c.model;
  const Plan plan = compile(read_description(directory), options).plan;
  EXPECT_EQ(plan.target, "sm_90");
  EXPECT_TRUE(plan.binary.empty());
  for (const KernelCode& kernel : plan.kernels) {
    EXPECT_FALSE(kernel.binary.empty()) << kernel.name;
    EXPECT_NE(kernel.source.find(kernel.name), std::string::npos) << kernel.name;
    EXPECT_GT(kernel.threads, 0) << kernel.name;
    EXPECT_LE(kernel.threads, 1024) << kernel.name;
  }
}

/// What `dump --emit=kernels` shows is all that a plan's CUDA is made from.
TEST_P(CudaGoldenPlans, KernelsFromTheirTextGiveThePlansSource) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  CompileOptions options;
  options.target = "sm_90";
  options.mode = GetParam().mode;
  options.storage = GetParam().storage;
  options.reuse = false;
  const auto directory = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / GetParam().model;
  const Compilation compilation = compile(read_description(directory), options);
  const auto sources = sources_of_kernels(compilation.program);
  const auto& kernels = compilation.program.kernels;
  ASSERT_FALSE(kernels.empty());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelCode& code = compilation.plan.kernels[i];
    EXPECT_EQ(code.text, print(kernels[i]));
    EXPECT_EQ(emit_cuda(parse_kernel(code.text), sources[i]), code.source) << code.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaGoldenPlans,
                         ::testing::Values(PlanCase{"gpt2", Mode::train, DType::f32},
                                           PlanCase{"gpt2", Mode::train, DType::bf16},
                                           PlanCase{"bert-multi", Mode::train, DType::f16},
                                           PlanCase{"t5-gated", Mode::train, DType::bf16},
                                           PlanCase{"llama-llama3", Mode::infer, DType::f32},
                                           PlanCase{"vit-odd", Mode::train, DType::f32},
                                           PlanCase{"bart-uneven", Mode::infer, DType::bf16}));

}  // namespace
}  // namespace smelt
