// Matmuls of few rows as one kernel with the kernels around them, on the GPU of this machine against float64,
// with weights as floats and as bytes; skipped where there is no GPU. SMELT_SWEEP=0:200 runs those cases.
#include "tests/support/small_m_epilogues.h"

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
        options.int8_weights = bytes;
        Session session = session_of(*module, options);
        EXPECT_TRUE(std::ranges::any_of(session.plan().kernels,
                                        [](const KernelCode& kernel) { return has_template(kernel.name); }) ||
                    bytes);
        for (const int64_t rows : {most, (most + 1) / 2})
          expect_right(*module, session, rows, options.storage, seed);
      }
    }
}

}  // namespace
}  // namespace smelt::small_m_epilogues
