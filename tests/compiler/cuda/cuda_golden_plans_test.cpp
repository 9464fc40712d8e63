// Every kernel of the golden models compiles for a GPU to code without stack frames and spills.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "codegen/code_generator.h"
#include "codegen/cuda/emit_cuda.h"
#include "compiler/driver/compile.h"
#include "frontend/description.h"
#include "runtime/cuda/nvrtc.h"

namespace smelt {
namespace {

struct PlanCase {
  const char* model;
  Mode mode;
  DType storage;
  int kernels;  // that steps launch: fewer where more is fused or more code is shared
};

class CudaGoldenPlans : public ::testing::TestWithParam<PlanCase> {};

/// The two numbers of an ELF header that say for which machine it is, and for which architecture of it (as
/// CUDA 13 writes them).
std::pair<int, int> machine_of(const std::vector<std::byte>& cubin) {
  uint16_t machine = 0;
  uint32_t flags = 0;
  if (cubin.size() < 64) return {};
  std::memcpy(&machine, cubin.data() + 18, sizeof machine);
  std::memcpy(&flags, cubin.data() + 48, sizeof flags);
  return {machine, flags >> 8 & 0xFF};
}

/// Launches by kernel: of every one that a step names.
std::map<int, int> launches(const Plan& plan) {
  std::map<int, int> count;
  for (const PlanEntry& entry : plan.entries)
    for (const Step& step : entry.steps)
      if (const auto* launch = std::get_if<KernelStep>(&step.what)) ++count[launch->kernel];
  return count;
}

TEST_P(CudaGoldenPlans, CodeIsThatOfTheSourceAndFitsAMultiprocessor) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  constexpr int kRegisters = 65536, kSharedBytes = 227 << 10, kCudaMachine = 190;
  const PlanCase& c = GetParam();
  CompileOptions options;
  options.target = "sm_90";
  options.mode = c.mode;
  options.storage = c.storage;
  const auto directory = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / c.model;
  const Plan plan = compile(read_description(directory), options).plan;
  EXPECT_EQ(plan.target, "sm_90");
  EXPECT_TRUE(plan.binary.empty());
  std::vector<CudaSource> sources;
  for (const KernelCode& kernel : plan.kernels)
    sources.push_back({kernel.source, kernel.name, kernel.only_capability});
  const std::vector<Cubin> again = compile_cuda(sources, 90);
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const KernelCode& kernel = plan.kernels[i];
    const CudaResources& r = again[i].resources;
    EXPECT_EQ(kernel.binary, again[i].bytes) << kernel.name;
    EXPECT_EQ(machine_of(kernel.binary), std::pair(kCudaMachine, 90)) << kernel.name;
    EXPECT_EQ(std::pair(r.stack_bytes, r.spill_bytes), std::pair(0, 0)) << kernel.name;
    EXPECT_TRUE(kernel.threads % 32 == 0 || 32 % kernel.threads == 0) << kernel.name << kernel.threads;
    EXPECT_LE(std::max(r.registers, 1) * kernel.threads, kRegisters) << kernel.name;
    EXPECT_LE(r.shared_bytes + kernel.shared_bytes, kSharedBytes) << kernel.name;
  }
  std::set<int> launched;
  for (const auto& [kernel, count] : launches(plan)) launched.insert(kernel);
  EXPECT_EQ(static_cast<int>(launched.size()), c.kernels) << "kernels that a step launches";
}

/// What `dump --emit=kernels` shows is all that a plan's CUDA is made from.
TEST_P(CudaGoldenPlans, KernelsFromTheirTextGiveThePlansSource) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  CompileOptions options;
  options.target = "sm_90";
  options.mode = GetParam().mode;
  options.storage = GetParam().storage;
  const auto directory = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / GetParam().model;
  const Compilation compilation = compile(read_description(directory), options);
  const auto listed = listed_kernels(compilation.program);
  const auto& kernels = compilation.program.kernels;
  ASSERT_FALSE(kernels.empty());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelCode& code = compilation.plan.kernels[i];
    EXPECT_EQ(code.text, print(kernels[i]));
    EXPECT_EQ(emit_cuda(parse_kernel(code.text), listed[i].sources), code.source) << code.name;
  }
}

/// Without the comment above the function, which has the kernel's text.
std::string code_of(const Kernel& kernel) {
  std::string code;
  std::istringstream lines(emit_cuda(kernel));
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("//")) code += line + "\n";
  return code;
}

/// Printers decide nothing: an instruction whose form is taken back by hand is printed in another way.
TEST(CudaForms, DecideWhatIsPrinted) {
  CompileOptions options;
  options.target = "sm_90", options.storage = DType::bf16;
  const auto directory = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2";
  const Program program = compile(read_description(directory), options, Stage::program).program;
  std::set<Form> seen;
  for (const Kernel& kernel : program.kernels)
    for (size_t i = 0; i < kernel.instructions.size(); ++i) {
      if (kernel.instructions[i].form == Form::plain) continue;
      Kernel plain = kernel;
      plain.instructions[i].form = Form::plain;
      EXPECT_NE(code_of(plain), code_of(kernel)) << kernel.name << ", instruction " << i;
      seen.insert(kernel.instructions[i].form);
    }
  for (const Form form : {Form::fast, Form::inverse, Form::kept}) EXPECT_TRUE(seen.contains(form));
}

INSTANTIATE_TEST_SUITE_P(Models, CudaGoldenPlans,
                         ::testing::Values(PlanCase{"gpt2", Mode::train, DType::f32, 41},
                                           PlanCase{"gpt2", Mode::train, DType::bf16, 48},
                                           PlanCase{"bert-multi", Mode::train, DType::f16, 44},
                                           PlanCase{"t5-gated", Mode::train, DType::bf16, 95},
                                           PlanCase{"llama-llama3", Mode::infer, DType::f32, 7},
                                           PlanCase{"vit-odd", Mode::train, DType::f32, 41},
                                           PlanCase{"bart-uneven", Mode::infer, DType::bf16, 12}));

}  // namespace
}  // namespace smelt
