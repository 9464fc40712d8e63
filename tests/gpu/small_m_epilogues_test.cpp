// Matmuls of few rows as one kernel with the kernels around them, on the GPU of this machine against float64,
// with weights as floats and as bytes; skipped where there is no GPU. SMELT_SWEEP=0:200 runs those cases.
#include "tests/support/small_m_epilogues.h"

#include <array>
#include <cstdlib>

#include "runtime/cuda/device.h"
#include "tests/support/small_m_epilogues_run.h"

namespace smelt::small_m_epilogues {
namespace {

std::pair<uint64_t, uint64_t> sweep() {
  const char* asked = std::getenv("SMELT_SWEEP");
  if (!asked) return {0, 24};
  char* colon = nullptr;
  const uint64_t begin = std::strtoull(asked, &colon, 10);
  return {begin, std::strtoull(colon + (*colon == ':'), nullptr, 10)};
}

Session session_of(const Module& module, CompileOptions options) {
  options.target = "native";
  return testing::cpu_session(compile(module.clone(), options).plan);
}

TEST(GpuSmallMEpilogues, AgreeWithFloat64) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  const auto [begin, end] = sweep();
  for (uint64_t seed = begin; seed < end; ++seed)
    for (const int64_t most : {1, 5, 16}) {
      const std::string text = module_text(seed, most);
      SCOPED_TRACE(fmt::format("{} of {}\n{}", seed, most, text));
      const auto module = parse_module(text);
      for (const bool bytes : {false, true}) {
        CompileOptions options = options_of(seed);
        options.weight_type = bytes ? WeightType::int8 : WeightType::floats;
        Session session = session_of(*module, options);
        EXPECT_TRUE(std::ranges::any_of(session.plan().kernels,
                                        [](const KernelCode& kernel) { return has_template(kernel.name); }) ||
                    bytes);
        for (const int64_t rows : {most, (most + 1) / 2})
          expect_right(*module, session, rows, options.storage, seed);
      }
    }
}

TEST(GpuSmallMEpilogues, OfPackedCodesAgreeWithFloat64) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  const auto [begin, end] = sweep();
  for (uint64_t seed = begin; seed < end; ++seed)
    for (const int64_t most : {1, 7, 16, 40}) {
      const std::string text = packed_module_text(seed, most);
      SCOPED_TRACE(fmt::format("{} of {}\n{}", seed, most, text));
      const auto module = parse_module(text);
      Session session = session_of(*module, packed_options(seed));
      for (const int64_t rows : {most, (most + 1) / 2})
        expect_right(*module, session, rows, packed_options(seed).storage, seed, kPackedLooser);
    }
}

bool has_byte_gemm(const Session& session) {
  return std::ranges::any_of(session.plan().kernels, [](const KernelCode& kernel) {
    return kernel.name.find("byte_gemm_") != std::string::npos;
  });
}

Session session_of_bytes(const Module& module, uint64_t seed) {
  CompileOptions options = options_of(seed);
  options.weight_type = WeightType::int8;
  return session_of(module, options);
}

/// Numbers of rows around those of tiles, with weights that are bytes.
TEST(GpuByteGemm, AgreesWithFloat64) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  const auto [begin, end] = sweep();
  size_t used = 0;
  for (uint64_t seed = begin; seed < end; ++seed)
    for (const int64_t most : {17, 40, 128, 300}) {
      const std::string text = module_text(seed, most);
      SCOPED_TRACE(fmt::format("{} of {}\n{}", seed, most, text));
      const auto module = parse_module(text);
      Session session = session_of_bytes(*module, seed);
      used += has_byte_gemm(session);
      for (const int64_t rows : {int64_t{1}, (most + 1) / 2, most})
        expect_right(*module, session, rows, options_of(seed).storage, seed);
    }
  EXPECT_TRUE(used > 0 || cuda::Device::open().info().compute_capability != 90);
}

/// More tiles than multiprocessors; and sums that eight blocks share.
TEST(GpuByteGemm, ManyTilesAndLongSumsAgreeWithFloat64) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  for (const uint64_t seed : {4, 12, 13})
    for (const auto& [rows, n, k] :
         {std::array<int64_t, 3>{130, 17000, 80}, {40, 520, 4160}, {300, 264, 2064}}) {
      SCOPED_TRACE(fmt::format("{}: {} x {} x {}", seed, rows, n, k));
      const auto module = parse_module(module_text(seed, rows, n, k));
      Session session = session_of_bytes(*module, seed);
      expect_right(*module, session, rows, options_of(seed).storage, seed);
    }
}

}  // namespace
}  // namespace smelt::small_m_epilogues
