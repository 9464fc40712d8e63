#include "codegen/cuda/round_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr int kRoundThreads = 256;

constexpr std::string_view kRoundText =
    R"(// An element a thread, to the nearest, ties to even.
extern "C" __global__ void __launch_bounds__({1})
    smelt_round_{0}(const float* from, unsigned short* to, long long count) {{
  const long long i = (long long)blockIdx.x * {1} + threadIdx.x;
  if (i >= count) return;
  unsigned short rounded;
  asm("cvt.rn.{0}.f32 %0, %1;" : "=h"(rounded) : "f"(from[i]));
  to[i] = rounded;
}}
)";

}  // namespace

std::vector<KernelCode> round_kernels(const std::vector<State>& states) {
  std::vector<KernelCode> kernels;
  for (const State& state : states) {
    const std::string type(name(state.dtype)), kernel = "smelt_round_" + type;
    if (state.copy_of.empty() || std::ranges::find(kernels, kernel, &KernelCode::name) != kernels.end())
      continue;
    KernelCode& made = kernels.emplace_back();
    made.name = kernel;
    made.range = 1;  // the state says how many
    made.threads = kRoundThreads;
    made.launch =
        TemplateLaunch{.arguments = {address("from", DType::f32, PlaceUse::read),
                                     address("to", state.dtype, PlaceUse::write), integer(field("count"))},
                       .blocks = ceil_div(field("count"), kRoundThreads)};
    made.source = fmt::format(fmt::runtime(kRoundText), type, kRoundThreads);
  }
  return kernels;
}

}  // namespace smelt
