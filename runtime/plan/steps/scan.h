// The step that computes running sums, maxima or products along one axis.
#pragma once

#include <string>

#include "runtime/plan/steps/fields.h"

namespace smelt {

/// Computes y[o, i, j] = x[o, 0, j] . x[o, 1, j] . ... . x[o, i, j] for tensors [outer, count, inner]. The
/// operation `.` is `kind`: "add", "max" (if an operand is NaN, the result is NaN) or "mul". If `exclusive`,
/// the operand x[o, i, j] is left out, and y[o, 0, j] is 0 (add), the lowest value (max; -infinity for f32)
/// or 1. Element [o, i, j] of x is stored at offset o * x_outer_stride + i * x_stride + j, and likewise for
/// y.
struct ScanStep {
  BufferRef x, y;
  Dim outer, count, inner;
  Dim x_outer_stride, x_stride, y_outer_stride, y_stride;
  std::string kind = "add";
  bool exclusive = false;
  DType dtype = DType::f32;
};

template <>
struct StepKind<ScanStep> {
  static constexpr std::string_view
      name = "scan",
      keyword = "scan",
      text =
          "$combine$exclusive $dtype $y($y_outer_stride, $y_stride) = $x($x_outer_stride, $x_stride) "
          "of $outer x $count x $inner",
      description = "scan of $outer x $count x $inner elements";
  static constexpr bool by_template = true;
};
template <typename V, Is<ScanStep> T>
void visit_fields(V& v, T& x) {
  const auto walks = [&](const Dim& outer_stride, const Dim& stride) {
    return std::vector<Walk>{{x.outer, outer_stride}, {x.count, stride}, {x.inner}};
  };
  v("x", x.x, [&] { return role::reads(x.dtype, walks(x.x_outer_stride, x.x_stride)); });
  v("y", x.y, [&] { return role::writes(x.dtype, walks(x.y_outer_stride, x.y_stride)); });
  v("outer", x.outer, role::extent()), v("count", x.count, role::extent()),
      v("inner", x.inner, role::extent());
  v("x_outer_stride", x.x_outer_stride, role::stride), v("x_stride", x.x_stride, role::stride);
  v("y_outer_stride", x.y_outer_stride, role::stride), v("y_stride", x.y_stride, role::stride);
  v("combine", x.kind, role::one_of<std::string_view>("add, max or mul", {"add", "max", "mul"}));
  v("exclusive", x.exclusive, role::attribute());
  v("dtype", x.dtype, role::one_of("f32, i32 or i64", {DType::f32, DType::i32, DType::i64}));
}

}  // namespace smelt
