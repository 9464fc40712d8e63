#include "runtime/plan/plan_checks.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/plan/device_kind.h"
#include "runtime/plan/kernel_check.h"

namespace smelt {
namespace {

// Limits of cuTensorMapEncodeTiled.
constexpr size_t kMostMapAxes = 5;
constexpr int64_t kMostBox = 256, kUnit = 16, kMostExtent = int64_t{1} << 32, kMostStride = int64_t{1} << 40;
constexpr int kSwizzles[] = {0, 32, 64, 128};
constexpr DType kTaken[] = {DType::bf16, DType::f16, DType::f32, DType::i8};
/// Limited by a kernel's parameters, which are 4 KiB on every GPU.
constexpr size_t kMostMaps = 16;
constexpr int kFirstCapability = 90;

template <typename... Args>
[[noreturn]] void refuse(const KernelCode& kernel, const TensorMap& map, fmt::format_string<Args...> text,
                         Args&&... args) {
  fail_with(Status::invalid_file, "kernel '{}': the map of parameter {}: {}", kernel.name, map.parameter,
            fmt::format(text, std::forward<Args>(args)...));
}

void check_box(const KernelCode& kernel, const TensorMap& map, int64_t element_bytes) {
  for (const int64_t extent : map.box)
    if (extent < 1 || extent > kMostBox)
      refuse(kernel, map, "a box of {}: expected 1 to {}", extent, kMostBox);
  const int64_t row = map.box.front() * element_bytes;
  if (row % kUnit != 0 || (map.swizzle_bytes > 0 && row > map.swizzle_bytes))
    refuse(kernel, map, "rows of {} bytes, permuted in {}: expected a multiple of {}, at most those", row,
           map.swizzle_bytes, kUnit);
}

void check_map(const KernelCode& kernel, const TensorMap& map) {
  if (map.parameter < 0 || map.parameter >= std::ssize(kernel.parameters))
    refuse(kernel, map, "expected a parameter from 0 to {}", std::ssize(kernel.parameters) - 1);
  const KernelParameter& parameter = kernel.parameters[static_cast<size_t>(map.parameter)];
  const bool is_taken = std::ranges::find(kTaken, parameter.dtype) != std::end(kTaken);
  if (!is_taken || !parameter.read || parameter.written)
    refuse(kernel, map, "expected one of bf16, f16, f32 or i8 that is read alone");
  const size_t axes = map.extents.size();
  if (axes < 1 || axes > kMostMapAxes || map.strides.size() + 1 != axes || map.box.size() != axes)
    refuse(kernel, map, "{} extents, {} strides and a box of {}: expected 1 to {}, one less, and as many",
           axes, map.strides.size(), map.box.size(), kMostMapAxes);
  if (std::ranges::find(kSwizzles, map.swizzle_bytes) == std::end(kSwizzles))
    refuse(kernel, map, "permuted in {} bytes: expected 0, 32, 64 or 128", map.swizzle_bytes);
  check_box(kernel, map, size_of(parameter.dtype));
}

}  // namespace

void check_maps(const Plan& plan, const KernelCode& kernel) {
  const int capability = architecture(plan.target);
  if (kernel.only_capability != 0 && kernel.only_capability != capability)
    fail_with(Status::invalid_file, "kernel '{}' is for sm_{} alone: the plan is for {}", kernel.name,
              kernel.only_capability, plan.target);
  if (kernel.maps.empty()) return;
  if (capability < kFirstCapability || kernel.copies != 1 || kernel.launch || kernel.maps.size() > kMostMaps)
    fail_with(
        Status::invalid_file,
        "kernel '{}': {} maps of arguments, with {} copies{}: expected at most {}, for sm_{} or later, of "
        "one set of arguments",
        kernel.name, kernel.maps.size(), kernel.copies, kernel.launch ? ", of a template" : "", kMostMaps,
        kFirstCapability);
  for (const TensorMap& map : kernel.maps) check_map(kernel, map);
}

void check_maps(const Plan& plan, const KernelStep& launch, const SymbolValues& values,
                const std::string& place) {
  const KernelCode& kernel = plan.kernels[static_cast<size_t>(launch.kernel)];
  for (const TensorMap& map : kernel.maps) {
    const BufferRef& argument = launch.arguments[static_cast<size_t>(map.parameter)];
    const Buffer& buffer = plan.buffers[static_cast<size_t>(argument.buffer)];
    const int64_t bytes = size_of(buffer.dtype), begin = argument.offset.evaluate(values);
    const auto refuse = [&](const std::string& what) {
      fail_with(Status::invalid_file, "{}: kernel '{}': the map of argument {}, buffer '{}', {}", place,
                kernel.name, map.parameter, buffer.name, what);
    };
    if (begin % (kUnit / bytes) != 0)
      refuse(fmt::format("begins at element {}: expected a multiple of {} bytes", begin, kUnit));
    AccessBox reached;
    for (size_t i = 0; i < map.extents.size(); ++i) {
      const int64_t extent = map.extents[i].evaluate(values);
      const int64_t stride = i == 0 ? 1 : map.strides[i - 1].evaluate(values);
      if (extent < 1 || extent > kMostExtent)
        refuse(fmt::format("has an extent of {}: expected 1 to 2^32", extent));
      const bool is_right = stride > 0 && stride < kMostStride / bytes && stride % (kUnit / bytes) == 0;
      if (i > 0 && !is_right)
        refuse(fmt::format("has a stride of {} elements: expected a multiple of {} bytes below 2^40", stride,
                           kUnit));
      if (extent > 1) reached.axes.push_back({extent, stride});
    }
    const ElementSpan span = span_of(reached);
    if (span.end > buffer.elements.evaluate(values) - begin)
      refuse(fmt::format("reaches element {} from element {} of {}", span.end - 1, begin,
                         buffer.elements.evaluate(values)));
  }
}

}  // namespace smelt
