#include "codegen/cuda/step_kernels.h"

#include <algorithm>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/template_arguments.h"
#include "codegen/cuda/with_words.h"
#include "runtime/engine/weights/initialize.h"

namespace smelt {
namespace {

constexpr int kInitializeThreads = 256;

std::string source_of(const std::string& kernel, DType dtype) {
  const bool wide = dtype == DType::f32;
  std::string text(device::kInitializeDraws);
  text += wide ? device::kInitializeStoreF32 : device::kInitializeStoreBf16;
  return text + with_words(device::kInitializeKernel,
                           {{"TYPE", wide ? "float" : "unsigned short"}, {"NAME", kernel}});
}

}  // namespace

std::vector<KernelCode> initialize_kernels(const std::vector<State>& states) {
  std::vector<KernelCode> kernels;
  for (const State& state : states) {
    const std::string kernel = initialize_kernel_name(state);
    if (kernel.empty() || std::ranges::find(kernels, kernel, &KernelCode::name) != kernels.end()) continue;
    KernelCode& made = kernels.emplace_back();
    made.name = kernel;
    made.range = 1;  // the rows say how many
    made.threads = kInitializeThreads;
    made.launch = TemplateLaunch{
        .arguments = {address("state", state.dtype, PlaceUse::write), address("rows", {}, PlaceUse::read),
                      integer(field("row_count")), integer(field("groups"))},
        .blocks = ceil_div(field("groups"), kInitializeThreads)};
    made.source = source_of(kernel, state.dtype);
  }
  return kernels;
}

}  // namespace smelt
