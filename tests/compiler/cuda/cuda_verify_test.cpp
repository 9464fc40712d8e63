// Model directories in 16 bits, with the GPU's kernels run on the host, within the bounds of float64
// references: sums over rows show what is off by the same in every row.
#include <gtest/gtest.h>

#include "compiler/cli/commands/verify.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

struct VerifyCase {
  const char *model, *precision;
};
void PrintTo(const VerifyCase& c, std::ostream* out) { *out << c.model << " " << c.precision; }

Plan with_kernels_of_a_gpu(const Description& description, const CompileOptions& options) {
  CompileOptions gpu = options;
  gpu.target = "sm_90";
  gpu.attention = AttentionForm::unfused;  // templates for tensor cores have instructions that no host has
  return test::plan_on_host(compile(description, gpu, Stage::program).program);
}

class CudaVerify : public ::testing::TestWithParam<VerifyCase> {};

TEST_P(CudaVerify, HoldsWithinTheBounds) {
  cli::CompileFlags flags;
  set_option(flags.values, "precision", GetParam().precision, OptionSpelling::command_line);
  const auto directory = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / GetParam().model;
  const cli::Verified found = cli::verify_directory(directory, flags, with_kernels_of_a_gpu);
  EXPECT_GT(found.compared, 30);
  EXPECT_EQ(found.failed, 0) << found.table;
}

INSTANTIATE_TEST_SUITE_P(Models, CudaVerify,
                         ::testing::Values(VerifyCase{"gpt2", "bf16"}, VerifyCase{"bart-uneven", "bf16"},
                                           VerifyCase{"bert-multi", "fp16"}, VerifyCase{"vit-odd", "fp16"},
                                           VerifyCase{"gpt2-packed", "bf16"},
                                           VerifyCase{"llama-packed", "fp16"}));

}  // namespace
}  // namespace smelt
