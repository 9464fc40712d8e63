#include "runtime/cpu/features.h"

#include <sys/utsname.h>

namespace smelt {

std::string host_architecture() {
  utsname host{};
  return uname(&host) == 0 ? host.machine : "unknown";
}

std::vector<std::string> host_features() {
  std::vector<std::string> features;
#if defined(__x86_64__)
  // The builtin takes only literals.
#define SMELT_FEATURE(name) \
  if (__builtin_cpu_supports(name)) features.emplace_back(name)
  __builtin_cpu_init();
  SMELT_FEATURE("sse3");
  SMELT_FEATURE("ssse3");
  SMELT_FEATURE("sse4.1");
  SMELT_FEATURE("sse4.2");
  SMELT_FEATURE("popcnt");
  SMELT_FEATURE("avx");
  SMELT_FEATURE("avx2");
  SMELT_FEATURE("fma");
  SMELT_FEATURE("f16c");
  SMELT_FEATURE("bmi");
  SMELT_FEATURE("bmi2");
  SMELT_FEATURE("avx512f");
  SMELT_FEATURE("avx512cd");
  SMELT_FEATURE("avx512bw");
  SMELT_FEATURE("avx512dq");
  SMELT_FEATURE("avx512vl");
  SMELT_FEATURE("avx512ifma");
  SMELT_FEATURE("avx512vbmi");
  SMELT_FEATURE("avx512vbmi2");
  SMELT_FEATURE("avx512bitalg");
  SMELT_FEATURE("avx512vpopcntdq");
  SMELT_FEATURE("avx512vnni");
  SMELT_FEATURE("avx512bf16");
#undef SMELT_FEATURE
#endif
  return features;
}

}  // namespace smelt
