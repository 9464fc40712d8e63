#include <fmt/format.h>

#include <bit>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"
#include "codegen/cuda/step_kernels.h"
#include "codegen/cuda/template_arguments.h"
#include "codegen/cuda/with_words.h"
#include "runtime/base/packed_format.h"

namespace smelt {
namespace {

constexpr int kDequantizeThreads = 256, kDequantizeWords = 4;  // of a block, of a thread

std::string table_of(const PackedFormat& format) {
  std::string bits;
  for (const float value : format.values) bits += fmt::format("{}u, ", std::bit_cast<uint32_t>(value));
  return fmt::format("__device__ const unsigned kValues[{}] = {{{}}};\n", format.values.size(), bits);
}

std::string source_of(const std::string& name, const PackedFormat& format, DType dtype, bool has_zeros) {
  const std::string text = with_words(device::kDequantizeKernel, {{"KERNEL", name}});
  PreludeNeeds needs;
  need_element(needs, dtype), need_calls(needs, text);
  return fmt::format(
      "#define SM static __device__ __forceinline__\n#define ZEROS {}\n{}typedef {} Number;\n"
      "constexpr int kBits = {}, kPerWord = {};\n{}{}",
      has_zeros ? 1 : 0, cuda_prelude(needs), cuda_memory_type(dtype), format.bits, format.codes_per_word(),
      table_of(format), text);
}

TemplateLaunch launch_of(const PackedFormat& format, DType dtype, bool has_zeros) {
  const Dim row_words = floor_div(field("columns"), format.codes_per_word());
  const Dim words = field("rows") * row_words;
  TemplateLaunch launch{.step = "dequantize",
                        .blocks = ceil_div(words, kDequantizeThreads * kDequantizeWords)};
  launch.arguments = {
      address("codes", DType::u8, PlaceUse::read), address("scales", dtype, PlaceUse::read),
      has_zeros ? address("zeros", DType::i8, PlaceUse::read) : unused_address("codes", DType::u8),
      address("y", dtype, PlaceUse::write)};
  for (const Dim& number : {words, row_words, field("groups"), field("codes_stride"), field("scales_stride"),
                            field("zeros_stride")})
    launch.arguments.push_back(integer(number));
  return launch;
}

}  // namespace

StepKernels step_kernels(const DequantizeStep& step, const Symbols&, int) {
  const PackedFormat& format = *find_packed_format(step.format);
  const bool has_zeros = step.zeros.has_value();
  KernelCode kernel;
  kernel.name =
      fmt::format("smelt_dequantize_{}_{}{}", format.name, name(step.dtype), has_zeros ? "_zeros" : "");
  kernel.range = 1;  // the step says how many
  kernel.threads = kDequantizeThreads;
  kernel.source = source_of(kernel.name, format, step.dtype, has_zeros);
  kernel.launch = launch_of(format, step.dtype, has_zeros);
  return {{std::move(kernel)}};
}

}  // namespace smelt
