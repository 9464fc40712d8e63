// Floats of packed numbers.
#include <vector>

#include "runtime/base/convert.h"
#include "runtime/base/packed_format.h"
#include "runtime/cpu/bind_step.h"
#include "runtime/cpu/library_steps.h"
#include "runtime/cpu/threads.h"

namespace smelt {
namespace {

void dequantize_row(const DequantizeSizes& sizes, const PackedFormat& format, const uint8_t* codes,
                    const std::byte* scales, const int8_t* zeros, std::byte* to) {
  std::vector<float> numbers(static_cast<size_t>(sizes.columns));
  unpack(format, codes, numbers);
  std::vector<float> factors(static_cast<size_t>(sizes.groups));
  widen(scales, sizes.dtype, factors.data(), sizes.groups);
  const size_t group = factors.empty() ? 1 : numbers.size() / factors.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t at = i / group;
    numbers[i] = (numbers[i] - (zeros ? static_cast<float>(zeros[at]) : 0.0F)) * factors[at];
  }
  narrow(numbers.data(), to, sizes.dtype, sizes.columns);
}

}  // namespace

void dequantize(const DequantizeSizes& sizes, const PackedFormat& format, const uint8_t* codes,
                const std::byte* scales, const int8_t* zeros, std::byte* to) {
  const int64_t width = size_of(sizes.dtype);
#pragma omp parallel for schedule(static) num_threads(team_threads())
  for (int64_t row = 0; row < sizes.rows; ++row)
    dequantize_row(sizes, format, codes + row * sizes.codes_stride,
                   scales + row * sizes.scales_stride * width,
                   zeros ? zeros + row * sizes.zeros_stride : nullptr, to + row * sizes.columns * width);
}

Launch bind_step(const DequantizeStep& step, StepBinder& binder) {
  const DequantizeSizes sizes = {.rows = binder.value(step.rows),
                                 .columns = binder.value(step.columns),
                                 .groups = binder.value(step.groups),
                                 .codes_stride = binder.value(step.codes_stride),
                                 .scales_stride = binder.value(step.scales_stride),
                                 .zeros_stride = binder.value(step.zeros_stride),
                                 .dtype = step.dtype};
  const PackedFormat& format = *find_packed_format(step.format);
  const auto codes = binder.pointer<const uint8_t>(step.codes);
  const auto scales = binder.pointer<const std::byte>(step.scales);
  const auto y = binder.pointer<std::byte>(step.y);
  if (!step.zeros)
    return [=, &format](const StepRun&) { dequantize(sizes, format, codes, scales, nullptr, y); };
  return [=, &format, zeros = binder.pointer<const int8_t>(*step.zeros)](const StepRun&) {
    dequantize(sizes, format, codes, scales, zeros, y);
  };
}

}  // namespace smelt
