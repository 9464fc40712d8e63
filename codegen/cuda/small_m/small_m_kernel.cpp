#include "codegen/cuda/small_m/emit_small_m.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/small_m/small_m_text.h"
#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr int kMultiprocessors = 132;  // of an H100 or H200
constexpr int64_t kAlignment = 16;
/// Elements; they keep places in 32 bits.
constexpr int64_t kDepthsBelow = int64_t{1} << 30, kPitchesBelow = int64_t{1} << 24;

SmallMTiles tiles_of(const SmallM& few) {
  return {.rows = few.rows,
          .weights = few.weights,
          .depth = few.depth,
          .result_dtype = few.result_dtype,
          .warps = few.warps};
}

/// Returns the launch: the names of the step's fields, in the order of the kernel's parameters.
TemplateLaunch launch_of(const SmallM& few) {
  const Dim m = field("m"), n = field("n"), k = field("k"), a_pitch = field("a_row_stride"),
            b_pitch = field("b_column_stride");
  TemplateLaunch launch{.step = "gemm"};
  launch.arguments = {address("a", few.dtype, PlaceUse::read, kAlignment),
                      address("b", few.dtype, PlaceUse::read, kAlignment),
                      address("c", few.result_dtype, PlaceUse::write)};
  if (few.has_bias) launch.arguments.push_back(address("bias", few.result_dtype, PlaceUse::read));
  for (const Dim& number : {m, n, k, a_pitch, b_pitch, field("c_row_stride")})
    launch.arguments.push_back(integer(number));
  launch.arguments.push_back(real("alpha"));
  const int64_t size = size_of(few.dtype);
  launch.conditions = {{m, 1, few.rows + 1},
                       {n, 1, few.columns_below},
                       {Dim(0) - k, 1, 1 - few.least_sums},
                       {k * size, kAlignment, kDepthsBelow * size},
                       {a_pitch * size, kAlignment, kPitchesBelow * size},
                       {b_pitch * size, kAlignment}};
  launch.blocks = ceil_div(n, few.weights);
  launch.shared_bytes = small_m_bytes(tiles_of(few), false, {});
  launch.measured = few.warps == 0;  // others follow a rule, since their bits are those of every kernel
  return launch;
}

std::string source_of(const SmallM& few) {
  const std::string_view result = cuda_memory_type(few.result_dtype);
  const std::string text = small_m_function(tiles_of(few), {}) +
                           fmt::format("typedef {} Result;\n{}", result, device::kSmallMGemmKernel);
  PreludeNeeds needs;
  need_element(needs, few.result_dtype), need_calls(needs, text);
  return fmt::format(
      "// A matmul of at most {} rows by weights, whose reading is what takes time.\n{}"
      "#define KERNEL {}\n#define BIAS_PARAMETER {}\n#define BIAS {}\n{}{}",
      few.rows, small_m_macros(few.dtype, tiles_of(few), false, {}), few.name(),
      few.has_bias ? "const Result* bias," : "", few.has_bias ? "+ sm_get(bias[column])" : "",
      cuda_prelude(needs), text);
}

}  // namespace

KernelCode small_m_kernel(const SmallM& few) {
  KernelCode kernel;
  kernel.name = few.name();
  kernel.range = 1;  // the step says how many
  kernel.threads = kSmallMThreads;
  kernel.waits = true;
  kernel.most_blocks = kMultiprocessors * small_m_resident(tiles_of(few), {});
  kernel.launch = launch_of(few);
  kernel.shared_bytes = kernel.launch->shared_bytes.constant().value();
  kernel.source = source_of(few);
  return kernel;
}

}  // namespace smelt
