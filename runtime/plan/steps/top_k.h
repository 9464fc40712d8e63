// The step that finds the largest elements of rows.
#pragma once

#include "runtime/plan/steps/fields.h"

namespace smelt {

/// Finds the k largest elements of each of `rows` rows of `count` f32 elements. The rows begin row_stride
/// elements apart. Row i of the dense results `values` and `indices` [rows, k] has the elements of row i and
/// their indices in the row, in descending order of the elements. NaN counts as the largest value, and equal
/// elements are in the order of their indices. If count < k, the row ends with values of -infinity and
/// indices of -1.
struct TopKStep {
  BufferRef x, values, indices;
  Dim rows, count, row_stride, k;
};

template <>
struct StepKind<TopKStep> {
  static constexpr std::string_view name = "top_k", keyword = "top_k",
                                    text = "$x($row_stride) -> $values, $indices of $rows x $count by $k",
                                    description = "the $k largest of $count in each of $rows rows";
  static constexpr bool by_template = true;
};
template <typename V, Is<TopKStep> T>
void visit_fields(V& v, T& x) {
  const auto found = [&] { return std::vector<Walk>{{x.rows, x.k}, {x.k}}; };
  v("x", x.x, [&] { return role::reads(DType::f32, {{x.rows, x.row_stride}, {x.count}}); });
  v("values", x.values, [&] { return role::writes(DType::f32, found()); });
  v("indices", x.indices, [&] {
    const Dim least = floor_div(x.count - x.k, INT32_MAX);  // -1 where count < k, else 0
    return role::writes(DType::i32, found(), {{least, x.count - 1}});
  });
  v("rows", x.rows, role::extent()), v("count", x.count, role::extent(0, INT32_MAX - 1));
  v("row_stride", x.row_stride, role::stride), v("k", x.k, role::extent(1, 1024));
}

}  // namespace smelt
