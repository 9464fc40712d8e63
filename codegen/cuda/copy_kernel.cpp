#include "codegen/cuda/step_kernels.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/template_arguments.h"
#include "codegen/cuda/with_words.h"

namespace smelt {
namespace {

constexpr int kCopyThreads = 256;
/// More is the driver's copy, which is the faster one then.
constexpr int64_t kCopiesBelow = int64_t{1} << 16;

std::string_view word_text(int64_t bytes) {
  if (bytes == 8) return "unsigned long long";
  if (bytes == 4) return "unsigned";
  return bytes == 2 ? "unsigned short" : "unsigned char";
}

}  // namespace

KernelCode copy_kernel(const CopyStep& step) {
  const int64_t bytes = size_of(step.dtype);
  Dim count = 1;
  for (size_t axis = 0; axis < step.extents.size(); ++axis) count *= field(fmt::format("extents{}", axis));
  KernelCode kernel;
  kernel.name = fmt::format("smelt_copy_{}_{}", bytes, step.extents.size());
  kernel.range = 1;  // the step says how many
  kernel.threads = kCopyThreads;
  kernel.source = fmt::format("typedef {} Element;\n{}", word_text(bytes),
                              with_words(device::kCopy, {{"KERNEL", kernel.name}}));
  kernel.launch =
      TemplateLaunch{.step = "copy",
                     .arguments = {address("from", std::nullopt, PlaceUse::read, bytes),
                                   address("to", std::nullopt, PlaceUse::write, bytes), integer(count)},
                     .blocks = ceil_div(count, kCopyThreads),
                     .conditions = {{count * bytes, 1, kCopiesBelow}}};
  return kernel;
}

}  // namespace smelt
