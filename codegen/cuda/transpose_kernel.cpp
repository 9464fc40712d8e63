#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/step_kernels.h"
#include "codegen/cuda/template_arguments.h"
#include "codegen/cuda/with_words.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int kTransposeThreads = 256;
constexpr int64_t kTileBytes = 128;  // of a side of a tile

std::string_view element_text(int64_t bytes) {
  if (bytes == 4) return "unsigned";
  return bytes == 2 ? "unsigned short" : "unsigned char";
}

}  // namespace

KernelCode transpose_kernel(const CopyStep& step) {
  const int64_t bytes = size_of(step.dtype);
  const bool rows_first = step.from_strides[1].is_one();
  const Dim rows = field(rows_first ? "extents0" : "extents1"),
            columns = field(rows_first ? "extents1" : "extents0");
  KernelCode kernel;
  kernel.name = fmt::format("smelt_transpose_{}_{}", bytes, rows_first ? "rows" : "columns");
  kernel.range = 1;  // the step says how many
  kernel.threads = kTransposeThreads;
  kernel.source = fmt::format("typedef {} Element;\n{}", element_text(bytes),
                              with_words(device::kTranspose, {{"KERNEL", kernel.name}}));
  const int64_t side = kTileBytes / bytes;
  kernel.launch = TemplateLaunch{
      .step = "copy",
      .arguments = {address("from", step.dtype, PlaceUse::read), address("to", step.dtype, PlaceUse::write),
                    integer(rows), integer(columns),
                    integer(field(rows_first ? "from_strides0" : "from_strides1")),
                    integer(field(rows_first ? "to_strides1" : "to_strides0"))},
      .blocks = ceil_div(rows, side) * ceil_div(columns, side)};
  return kernel;
}

}  // namespace smelt
