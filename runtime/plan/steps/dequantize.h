// The step that makes floats of packed numbers.
#pragma once

#include <string>

#include "runtime/base/packed_format.h"
#include "runtime/plan/steps/fields.h"

namespace smelt {

/// Computes y[r, c] = (value(r, c) - zeros[r, g]) * scales[r, g], rounded once to `dtype`, for `rows` rows of
/// `columns` elements in `groups` groups of equal length; element c is in group g. value(r, c) is the number
/// that code c of row r stands for in `format` (runtime/base/packed_format.h). Rows of `codes`, which are
/// bytes, begin codes_stride bytes apart, and those of scales and zeros (i8) scales_stride and zeros_stride
/// elements. Without zeros, 0 is subtracted. y is dense.
struct DequantizeStep {
  BufferRef codes, scales;
  std::optional<BufferRef> zeros = {};
  BufferRef y;
  Dim rows, columns, groups;
  Dim codes_stride, scales_stride, zeros_stride;
  std::string format = "int4";
  DType dtype = DType::f32;  // of scales and y

  /// Returns the number of bytes of a row of codes.
  Dim row_bytes() const {
    const PackedFormat* found = find_packed_format(format);
    return floor_div(columns * (found ? found->bits : 8), 8);
  }
};

template <>
struct StepKind<DequantizeStep> {
  static constexpr std::string_view name = "dequantize", keyword = "dequantize",
                                    text =
                                        "$format $dtype $y = $codes($codes_stride) by "
                                        "$scales($scales_stride){ minus $zeros($zeros_stride)} of "
                                        "$rows x $columns in $groups",
                                    description = "$rows rows of $columns numbers in $format";
  static constexpr bool by_template = true;
  static bool shows(const DequantizeStep& step, std::string_view) { return step.zeros.has_value(); }
};
template <typename V, Is<DequantizeStep> T>
void visit_fields(V& v, T& x) {
  const auto groups = [&](const Dim& stride) { return std::vector<Walk>{{x.rows, stride}, {x.groups}}; };
  v("codes", x.codes, [&] { return role::reads(DType::u8, {{x.rows, x.codes_stride}, {x.row_bytes()}}); });
  v("scales", x.scales, [&] { return role::reads(x.dtype, groups(x.scales_stride)); });
  v("zeros", x.zeros, [&] { return role::reads(DType::i8, groups(x.zeros_stride)); });
  v("y", x.y, [&] { return role::writes(x.dtype, {{x.rows, x.columns}, {x.columns}}); });
  v("rows", x.rows, role::extent()), v("columns", x.columns, role::extent());
  v("groups", x.groups, role::extent()), v("codes_stride", x.codes_stride, role::stride);
  v("scales_stride", x.scales_stride, role::stride), v("zeros_stride", x.zeros_stride, role::stride);
  v("format", x.format,
    role::one_of<std::string_view>("int4, nf4, int8 or fp8", {"int4", "nf4", "int8", "fp8"}));
  v("dtype", x.dtype, role::one_of("f32, bf16 or f16", {DType::f32, DType::bf16, DType::f16}));
}

}  // namespace smelt
