#include "runtime/cpu/blas_core.h"

#include <cblas.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/cpu/features.h"
#include "runtime/system/environment.h"

namespace smelt {
namespace {

/// OpenBLAS's names of x86 processors without AVX2.
constexpr std::array<std::string_view, 14> kOldCores = {
    "Katmai", "Coppermine", "Northwood", "Prescott", "Banias",  "Core2",       "Penryn",
    "Atom",   "Dunnington", "Nehalem",   "Athlon",   "Opteron", "Sandybridge", "Unknown"};

bool has_all(std::initializer_list<std::string_view> wanted) {
  const auto features = host_features();
  return std::ranges::all_of(
      wanted, [&](std::string_view name) { return std::ranges::find(features, name) != features.end(); });
}

}  // namespace

std::string better_blas_core() {
  if (read_text(EnvironmentVariable::OPENBLAS_CORETYPE)) return {};
  if (std::ranges::find(kOldCores, std::string_view(openblas_get_corename())) == kOldCores.end()) return {};
  if (has_all({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"})) return "SkylakeX";
  return has_all({"avx2", "fma"}) ? "Haswell" : "";
}

}  // namespace smelt
