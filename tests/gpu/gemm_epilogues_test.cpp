// Matmuls whose kernel goes on with each element of the result, on the GPU of this machine against float64:
// every order of the operands, sizes from below a tile to several, odd ones, with column sums and random
// numbers. The template for sm_80 and later runs on every GPU, that for sm_90a is skipped on others.
// SMELT_SWEEP=0:200 runs those cases; several processes can share a sweep.
#include <cstdlib>

#include "runtime/cuda/device.h"
#include "tests/support/byte_epilogues.h"

namespace smelt::gemm_epilogues {
namespace {

/// Returns the seeds: those of SMELT_SWEEP, or 0 to 31.
std::pair<uint64_t, uint64_t> seeds() {
  const char* sweep = std::getenv("SMELT_SWEEP");
  if (!sweep) return {0, 32};
  char* colon = nullptr;
  const uint64_t begin = std::strtoull(sweep, &colon, 10);
  return {begin, std::strtoull(colon + (*colon == ':'), nullptr, 10)};
}

void expect_all_right(bool mma) {
  const auto [begin, end] = seeds();
  for (uint64_t seed = begin; seed < end; ++seed) {
    const std::string text = module_text(seed);
    SCOPED_TRACE(fmt::format("{}\n{}", seed, text));
    const auto module = parse_module(text);
    CompileOptions options = mma ? mma_options_of(seed) : options_of(seed);
    options.target = "native";
    Session session = testing::cpu_session(compile(module->clone(), options).plan);
    EXPECT_TRUE(std::ranges::any_of(session.plan().kernels, has_template));
    std::mt19937_64 random(seed);
    for (const int64_t rows : {one_of(kHeights, random), int64_t{517}})
      expect_right(*module, session, rows, options.storage, seed);
  }
}

TEST(GpuGemmEpilogues, AgreeWithFloat64) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  if (cuda::Device::open().info().compute_capability != 90) GTEST_SKIP() << "no GPU of sm_90";
  expect_all_right(false);
}

TEST(GpuGemmEpilogues, ForAllGpusAgreeWithFloat64) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  expect_all_right(true);
}

TEST(GpuGemmEpilogues, OfBytesAgreeWithFloat64) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  const auto [begin, end] = seeds();
  for (uint64_t seed = begin; seed < end; ++seed) {
    const std::string text = byte_module_text(seed);
    SCOPED_TRACE(fmt::format("{}\n{}", seed, text));
    CompileOptions options = byte_options_of(seed);
    options.target = "native";
    Session session = testing::cpu_session(compile(parse_module(text), options).plan);
    EXPECT_TRUE(std::ranges::any_of(session.plan().kernels, has_template));
    std::mt19937_64 random(seed);
    for (const int64_t rows : {one_of(kHeights, random), int64_t{517}})
      expect_right_of_bytes(*parse_module(text), session, rows, seed);
  }
}

TEST(GpuGemmEpilogues, OfBatchesAgreeWithFloat64) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  for (const Heads& heads : kHeads)
    for (const GemmEpilogues epilogues : {GemmEpilogues::mma, GemmEpilogues::mma_wide}) {
      const std::string text = heads_text(heads);
      SCOPED_TRACE(text);
      CompileOptions options = mma_options_of(1);
      options.target = "native", options.gemm_epilogues = epilogues;
      Session session = testing::cpu_session(compile(parse_module(text), options).plan);
      EXPECT_TRUE(std::ranges::any_of(session.plan().kernels, has_template));
      for (const int64_t rows : {1, 40, 150})
        expect_right(*parse_module(text), session, rows, options.storage, 1);
    }
}

}  // namespace
}  // namespace smelt::gemm_epilogues
