// Matmuls with an epilogue by mma.sync: the CUDA text run on the host, against the evaluator.
#include "tests/support/byte_epilogues.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"
#include "tests/support/gemm_epilogues_run.h"

namespace smelt::gemm_epilogues {
namespace {

class MmaGemms : public ::testing::TestWithParam<uint64_t> {};

Program program_of(uint64_t seed) {
  CompileOptions options = options_of(seed);
  options.target = "sm_80";
  return compile(parse_module(module_text(seed)), options, Stage::program).program;
}

/// With few blocks, a block computes several tiles.
TEST_P(MmaGemms, AgreeWithFloat64OnTheHost) {
  const uint64_t seed = GetParam();
  const std::string text = module_text(seed);
  SCOPED_TRACE(fmt::format("{}\n{}", seed, text));
  Program program = program_of(seed);
  EXPECT_EQ(std::ranges::count_if(program.kernels, test::is_mma_gemm), 1);
  for (Kernel& kernel : program.kernels)
    if (kernel.gemm && kernel.gemm->most_blocks > 0 && seed % 3 != 0) kernel.gemm->most_blocks = 2;
  Session session = testing::cpu_session(test::plan_on_host(program));
  std::mt19937_64 random(seed);
  for (const int64_t rows : {one_of(kHeights, random), int64_t{130}})
    expect_right(*parse_module(text), session, rows, options_of(seed).storage, seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MmaGemms, ::testing::Range<uint64_t>(0, 48));

class MmaByteGemms : public ::testing::TestWithParam<uint64_t> {};

/// Also on a GPU with wgmma, which multiplies 16-bit floats.
TEST_P(MmaByteGemms, AgreeWithFloat64OnTheHost) {
  const uint64_t seed = GetParam();
  const std::string text = byte_module_text(seed);
  SCOPED_TRACE(fmt::format("{}\n{}", seed, text));
  CompileOptions options = byte_options_of(seed);
  options.target = seed % 2 == 0 ? "sm_80" : "sm_90";
  Program program = compile(parse_module(text), options, Stage::program).program;
  const auto found = std::ranges::find_if(program.kernels, test::is_mma_gemm);
  ASSERT_NE(found, program.kernels.end()) << print(program);
  EXPECT_EQ(print(parse_kernel(print(*found))), print(*found));
  if (found->gemm->most_blocks > 0 && seed % 3 != 0) found->gemm->most_blocks = 2;
  Session session = testing::cpu_session(test::plan_on_host(program));
  std::mt19937_64 random(seed);
  for (const int64_t rows : {one_of(kHeights, random), int64_t{130}})
    expect_right_of_bytes(*parse_module(text), session, rows, seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MmaByteGemms, ::testing::Range<uint64_t>(0, 40));

class MmaGemmBatches : public ::testing::TestWithParam<Heads> {};

TEST_P(MmaGemmBatches, AgreeWithFloat64OnTheHost) {
  const std::string text = heads_text(GetParam());
  SCOPED_TRACE(text);
  for (const GemmEpilogues epilogues : {GemmEpilogues::mma, GemmEpilogues::mma_wide}) {
    CompileOptions options = mma_options_of(1);
    options.target = "sm_80", options.gemm_epilogues = epilogues;
    Program program = compile(parse_module(text), options, Stage::program).program;
    const auto found = std::ranges::find_if(program.kernels, test::is_mma_gemm);
    ASSERT_NE(found, program.kernels.end()) << print(program);
    EXPECT_FALSE(found->gemm->batch.empty()) << print(*found);
    if (found->gemm->most_blocks > 0) found->gemm->most_blocks = 4;
    EXPECT_EQ(print(parse_kernel(print(*found))), print(*found));
    Session session = testing::cpu_session(test::plan_on_host(program));
    for (const int64_t rows : {1, 40, 150})
      expect_right(*parse_module(text), session, rows, options.storage, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, MmaGemmBatches, ::testing::ValuesIn(kHeads));

TEST(MmaGemmKernels, GoThroughTextAndBack) {
  for (const uint64_t seed : {0, 17})
    for (const Kernel& kernel : program_of(seed).kernels)
      EXPECT_EQ(print(parse_kernel(print(kernel))), print(kernel));
}

}  // namespace
}  // namespace smelt::gemm_epilogues
