#include "codegen/cuda/step_kernels.h"

#include <fmt/format.h>

#include "codegen/cuda/prelude.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::string_view kCalls = "\n  sm_allow_next_launch();\n  sm_wait_for_launches();";

std::string functions() {
  PreludeNeeds needs;
  need_calls(needs, kCalls);
  return fmt::format("#ifndef SM\n#define SM static __device__ __forceinline__\n#endif\n{}\n",
                     cuda_prelude(needs));
}

}  // namespace

void make_waiting(KernelCode& kernel) {
  std::string& source = kernel.source;
  const size_t function = source.find("extern \"C\" __global__"), body = source.find('{', function);
  if (function == std::string::npos || body == std::string::npos)
    fail_with(Status::internal, "template {}: its source has no kernel", kernel.name);
  source.insert(body + 1, kCalls);
  source.insert(function, functions());
  kernel.waits = true;
}

}  // namespace smelt
