// Matmuls of few rows as one kernel with the kernels around them, run on the host, against the evaluator.
#include "tests/support/small_m_epilogues.h"

#include "codegen/cuda/gemm/emit_gemm.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"
#include "tests/support/small_m_epilogues_run.h"

namespace smelt::small_m_epilogues {
namespace {

class SmallMEpilogues : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SmallMEpilogues, AgreeWithFloat64OnTheHost) {
  const uint64_t seed = GetParam();
  for (const int64_t most : {1, 5, 16}) {
    const std::string text = module_text(seed, most);
    SCOPED_TRACE(fmt::format("{} of {}\n{}", seed, most, text));
    const auto module = parse_module(text);
    const Program program = compile(module->clone(), options_of(seed), Stage::program).program;
    EXPECT_TRUE(std::ranges::any_of(program.kernels, [](const Kernel& k) { return has_template(k.name); }));
    Session session = testing::cpu_session(test::plan_on_host(program));
    expect_right(*module, session, most, options_of(seed).storage, seed);
    if (most > 1) expect_right(*module, session, most / 2, options_of(seed).storage, seed);
  }
}

TEST_P(SmallMEpilogues, ReadWeightsThatAreBytes) {
  const uint64_t seed = GetParam();
  const auto module = parse_module(module_text(seed, 5));
  CompileOptions options = options_of(seed);
  options.weight_type = WeightType::int8;
  const Program program = compile(module->clone(), options, Stage::program).program;
  const auto reads_bytes = [](const Kernel& kernel) {
    return kernel.gemm && kernel.params[static_cast<size_t>(kernel.gemm->b.param)].dtype == DType::i8;
  };
  const bool takes = *module->find_parameter("w")->type.shape[1].constant() % 16 == 0;
  EXPECT_EQ(std::ranges::any_of(program.kernels, reads_bytes), takes);
  Session session = testing::cpu_session(test::plan_on_host(program));
  expect_right(*module, session, 5, options.storage, seed);
}

TEST_P(SmallMEpilogues, ReadPackedCodes) {
  const uint64_t seed = GetParam();
  const auto module = parse_module(packed_module_text(seed, 13));
  const CompileOptions options = packed_options(seed);
  const Program program = compile(module->clone(), options, Stage::program).program;
  const auto reads_codes = [](const Kernel& kernel) { return kernel.gemm && kernel.gemm->packed; };
  EXPECT_EQ(std::ranges::any_of(program.kernels, reads_codes), options.weight_type != WeightType::nf4);
  Session session = testing::cpu_session(test::plan_on_host(program));
  expect_right(*module, session, 13, options.storage, seed, kPackedLooser);
  expect_right(*module, session, 2, options.storage, seed + 100, kPackedLooser);
}

bool has_chains(const Program& program) {
  return std::ranges::any_of(program.kernels,
                             [](const Kernel& kernel) { return kernel.gemm && kernel.gemm->few->warps > 0; });
}

TEST_P(SmallMEpilogues, AreTheSameAroundChains) {
  const uint64_t seed = GetParam();
  const auto module = parse_module(module_text(seed, 11));
  for (const bool bytes : {false, true}) {
    CompileOptions options = options_of(seed);
    options.build.same_bits = true, options.weight_type = bytes ? WeightType::int8 : WeightType::floats;
    const Program program = compile(module->clone(), options, Stage::program).program;
    EXPECT_TRUE(bytes || has_chains(program));
    Session session = testing::cpu_session(test::plan_on_host(program));
    expect_right(*module, session, 11, options.storage, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SmallMEpilogues, ::testing::Range<uint64_t>(0, 24));

Program program_of(uint64_t seed, int64_t most, GemmEpilogues bodies = GemmEpilogues::measured,
                   bool same_bits = false) {
  CompileOptions options = options_of(seed);
  options.gemm_epilogues = bodies, options.build.same_bits = same_bits;
  return compile(parse_module(module_text(seed, most)), options, Stage::program).program;
}

size_t launches(const Program& program) { return program.entries.at(0).steps.size(); }

/// A norm, a matmul, and a bias with an activation.
TEST(SmallMLaunches, AreOneForAllThree) {
  EXPECT_EQ(launches(program_of(4, 3, GemmEpilogues::off)), 3u);
  EXPECT_EQ(launches(program_of(4, 3)), 1u);
}

TEST(SmallMLaunches, StayApartWhereRowsMayBeMany) { EXPECT_EQ(launches(program_of(4, 17)), 3u); }

TEST(FusedSmallMKernels, GoThroughTextAndBack) {
  for (const uint64_t seed : {4, 12})
    for (const bool same_bits : {false, true})
      for (const Kernel& kernel : program_of(seed, 3, GemmEpilogues::measured, same_bits).kernels)
        EXPECT_EQ(print(parse_kernel(print(kernel))), print(kernel));
}

TEST(FusedSmallMKernels, OfPackedCodesGoThroughTextAndBackAndDoNotSpill) {
  std::vector<CudaSource> sources;
  for (const WeightType type : {WeightType::int4, WeightType::uint4, WeightType::fp8})
    for (const int64_t most : {1, 16})
      for (const int64_t n : {96, 6144}) {
        CompileOptions options = options_of(type == WeightType::fp8 ? 3 : 4);
        options.weight_type = type;
        const auto module = parse_module(module_text(4, most, n, 2304));
        for (const Kernel& kernel : compile(module->clone(), options, Stage::program).program.kernels) {
          EXPECT_EQ(print(parse_kernel(print(kernel))), print(kernel));
          if (has_template(kernel.name)) sources.push_back({emit_cuda(kernel), kernel.name});
        }
      }
  ASSERT_FALSE(sources.empty());
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  for (const int architecture : {80, 90})
    for (const Cubin& cubin : compile_cuda(sources, architecture))
      EXPECT_EQ(std::pair(cubin.resources.stack_bytes, cubin.resources.spill_bytes), std::pair(0, 0));
}

TEST(FusedSmallMKernels, NeitherSpillNorHaveAStack) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  std::vector<CudaSource> sources;
  for (const uint64_t seed : {4, 5, 8, 12, 13})
    for (const auto& [most, same_bits] : {std::pair(1, false), {16, false}, {8, true}, {16, true}})
      for (const Kernel& kernel : program_of(seed, most, GemmEpilogues::measured, same_bits).kernels)
        if (has_template(kernel.name)) sources.push_back({emit_cuda(kernel), kernel.name});
  for (const Cubin& cubin : compile_cuda(sources, 90))
    EXPECT_EQ(std::pair(cubin.resources.stack_bytes, cubin.resources.spill_bytes), std::pair(0, 0));
}

// ---- bytes by any number of rows

Program program_of_bytes(int64_t rows, int64_t n, int64_t k, const char* target = "sm_90",
                         uint64_t seed = 4) {
  CompileOptions options = options_of(seed);
  options.weight_type = WeightType::int8, options.target = target;
  return compile(parse_module(module_text(seed, rows, n, k)), options, Stage::program).program;
}

std::vector<Kernel> byte_gemms(const Program& program) {
  std::vector<Kernel> found;
  for (const Kernel& kernel : program.kernels)
    if (kernel.gemm && kernel.gemm->is_byte_gemm()) found.push_back(kernel);
  return found;
}

/// The norm stays a kernel of its own; the bias and the activation are those of the matmul, which reads
/// bytes.
TEST(ByteGemm, ReadsBytesForAnyNumberOfRows) {
  const Program program = program_of_bytes(200, 520, 1552);
  EXPECT_EQ(launches(program), 2u);
  const std::vector<Kernel> found = byte_gemms(program);
  ASSERT_EQ(found.size(), 1u);
  const GemmKernel& gemm = *found[0].gemm;
  EXPECT_EQ(found[0].params[static_cast<size_t>(gemm.b.param)].dtype, DType::i8);
  EXPECT_EQ(gemm.few->rows, 128);
  EXPECT_LE(gemm.shared_bytes, 227 << 10);
}

TEST(ByteGemm, IsForGpusWithItsInstructionsAndBytesInPieces) {
  EXPECT_TRUE(byte_gemms(program_of_bytes(200, 520, 1552, "sm_80")).empty());
  EXPECT_TRUE(byte_gemms(program_of_bytes(200, 520, 1556)).empty());
  EXPECT_TRUE(byte_gemms(program_of_bytes(16, 520, 1552)).empty()) << "few rows have a kernel of their own";
}

/// More splits where there are few tiles and many terms; a cluster has at most eight blocks.
TEST(ByteGemm, SharesLongSumsOfFewColumns) {
  const auto tiles = [](int64_t rows, int64_t n, int64_t k) {
    return *byte_gemms(program_of_bytes(rows, n, k)).at(0).gemm->few;
  };
  EXPECT_EQ(tiles(40, 20000, 80).splits, 1);
  EXPECT_GT(tiles(40, 520, 4160).splits, 1);
  EXPECT_EQ(tiles(40, 520, 4160).rows, 64);
  for (const int64_t n : {8, 520, 4096, 20000})
    for (const int64_t k : {80, 1552, 4160}) EXPECT_LE(tiles(40, n, k).splits * tiles(40, n, k).together, 8);
}

TEST(ByteGemm, OfSumsInOrderHasOneBlockPerTile) {
  CompileOptions options = options_of(4);
  options.build.same_bits = true, options.weight_type = WeightType::int8;
  const Program program =
      compile(parse_module(module_text(4, 40, 520, 4160)), options, Stage::program).program;
  EXPECT_EQ(byte_gemms(program).at(0).gemm->few->splits, 1);
}

TEST(ByteGemm, GoesThroughTextAndBack) {
  for (const Kernel& kernel : byte_gemms(program_of_bytes(200, 520, 4160)))
    EXPECT_EQ(print(parse_kernel(print(kernel))), print(kernel));
}

TEST(ByteGemm, NeitherSpillsNorHasAStack) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  std::vector<CudaSource> sources;
  for (const uint64_t seed : {4, 5, 8, 12, 13})
    for (const int64_t rows : {17, 64, 200})
      for (const int64_t k : {272, 4160})
        for (const Kernel& kernel : byte_gemms(program_of_bytes(rows, 520, k, "sm_90", seed)))
          sources.push_back({emit_cuda(kernel), kernel.name, kGemmCapability});
  ASSERT_FALSE(sources.empty());
  for (const Cubin& cubin : compile_cuda(sources, 90))
    EXPECT_EQ(std::pair(cubin.resources.stack_bytes, cubin.resources.spill_bytes), std::pair(0, 0));
}

}  // namespace
}  // namespace smelt::small_m_epilogues
