#include "runtime/cpu/blas_core.h"

#include <cblas.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/cpu/features.h"

namespace smelt {
namespace {

bool has(const char* feature) {
  const auto features = host_features();
  return std::ranges::find(features, feature) != features.end();
}

TEST(BlasCore, NamesKernelsThatTheProcessorRuns) {
  const std::string better = better_blas_core();
  const bool chose_badly = std::string(openblas_get_corename()) == "Prescott" && has("avx2");
  if (chose_badly && !std::getenv(kBlasCoreVariable))
    EXPECT_EQ(better, has("avx512vl") ? "SkylakeX" : "Haswell");
  else
    EXPECT_TRUE(better.empty() || has("avx2")) << better;
}

TEST(BlasCore, LeavesWhatWasChosen) {
  const char* before = std::getenv(kBlasCoreVariable);
  const std::string kept = before ? before : "";
  ::setenv(kBlasCoreVariable, "Nehalem", 1);
  EXPECT_EQ(better_blas_core(), "");
  before ? ::setenv(kBlasCoreVariable, kept.c_str(), 1) : ::unsetenv(kBlasCoreVariable);
}

}  // namespace
}  // namespace smelt
