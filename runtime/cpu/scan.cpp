#include "runtime/cpu/library_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/cpu/bind_step.h"

namespace smelt {
namespace {

/// One line of elements, some distance apart. `Carry` holds the running result.
template <typename T, typename Carry, typename Combine>
void scan_line(const ScanSizes& sizes, const T* x, T* y, Carry carry, Combine combine) {
  for (int64_t i = 0; i < sizes.count; ++i) {
    const auto element = static_cast<Carry>(x[i * sizes.x_stride]);
    if (sizes.exclusive) y[i * sizes.y_stride] = static_cast<T>(carry);
    carry = combine(carry, element);
    if (!sizes.exclusive) y[i * sizes.y_stride] = static_cast<T>(carry);
  }
}

template <typename T, typename Carry, typename Combine>
void scan_lines(const ScanSizes& sizes, const void* x, void* y, Carry identity, Combine combine) {
  const int64_t lines = sizes.outer * sizes.inner;
#pragma omp parallel for schedule(static)
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t outer = line / sizes.inner, inner = line % sizes.inner;
    scan_line(sizes, static_cast<const T*>(x) + outer * sizes.x_outer_stride + inner,
              static_cast<T*>(y) + outer * sizes.y_outer_stride + inner, identity, combine);
  }
}

/// NaN wins.
template <typename T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  return std::max(a, b);
}

/// T as it is stored, Carry as it is added and multiplied.
template <typename T, typename Carry>
void scan_as(const ScanSizes& sizes, const void* x, void* y) {
  using Limits = std::numeric_limits<T>;
  if (sizes.kind == "add")
    scan_lines<T>(sizes, x, y, Carry(0), [](Carry a, Carry b) { return a + b; });
  else if (sizes.kind == "mul")
    scan_lines<T>(sizes, x, y, Carry(1), [](Carry a, Carry b) { return a * b; });
  else
    scan_lines<T>(sizes, x, y, Limits::has_infinity ? -Limits::infinity() : Limits::lowest(), larger<T>);
}

}  // namespace

void scan(const ScanSizes& sizes, const void* x, void* y) {
  if (sizes.dtype == DType::f32)
    scan_as<float, double>(sizes, x, y);
  else if (sizes.dtype == DType::i64)
    scan_as<int64_t, uint64_t>(sizes, x, y);
  else
    scan_as<int32_t, uint32_t>(sizes, x, y);
}

Launch bind_step(const ScanStep& step, StepBinder& binder) {
  const auto value = [&](const Dim& dim) { return binder.value(dim); };
  return
      [x = binder.pointer<void>(step.x), y = binder.pointer<void>(step.y),
       sizes = ScanSizes{value(step.outer), value(step.count), value(step.inner), value(step.x_outer_stride),
                         value(step.x_stride), value(step.y_outer_stride), value(step.y_stride), step.kind,
                         step.exclusive, step.dtype}](const StepRun&) { scan(sizes, x, y); };
}

}  // namespace smelt
