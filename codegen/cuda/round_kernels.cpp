#include "codegen/cuda/step_kernels.h"

#include <algorithm>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/template_arguments.h"
#include "codegen/cuda/with_words.h"

namespace smelt {
namespace {

constexpr int kRoundThreads = 256;

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
    made.source = with_words(device::kRound, {{"TYPE", type}});
  }
  return kernels;
}

}  // namespace smelt
