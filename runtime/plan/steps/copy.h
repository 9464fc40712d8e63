// The step that copies a strided box of elements.
#pragma once

#include <algorithm>

#include "runtime/plan/steps/fields.h"

namespace smelt {

/// Copies the elements at from + sum_i x_i * from_strides[i] to to + sum_i x_i * to_strides[i], for all x_i
/// in [0, extents[i]).
struct CopyStep {
  BufferRef from, to;
  Shape extents;
  std::vector<Dim> from_strides, to_strides;
  DType dtype = DType::f32;
  /// Index of the later step that waits for the end of this one; -1: the next step waits. Steps before the
  /// waiting step may run concurrently with the copy. An index is set only for a dense copy from or to the
  /// part of a state that is in host memory (State::resident).
  int waited_at = -1;

  /// Returns the axes (extent and stride) of the elements of `from` or `to`, whose strides are `strides`. A
  /// damaged plan may have fewer strides than extents; validation reports it later.
  std::vector<Walk> walks(const std::vector<Dim>& strides) const {
    std::vector<Walk> all;
    const size_t rank = std::min({extents.size(), from_strides.size(), to_strides.size()});
    for (size_t i = 0; i < rank; ++i) all.push_back({extents[i], strides[i]});
    return all;
  }
};

/// Returns whether the copy turns the columns of a matrix of elements of 1, 2 or 4 bytes into rows:
/// neighbours along one axis are neighbours before it, and those along the other one after it.
inline bool is_transposition(const CopyStep& step) {
  if (step.extents.size() != 2 || size_of(step.dtype) > 4) return false;
  const auto crosses = [&](size_t a, size_t b) {
    return step.from_strides[a].is_one() && step.to_strides[b].is_one();
  };
  return crosses(0, 1) || crosses(1, 0);
}

template <>
struct StepKind<CopyStep> {
  static constexpr std::string_view
      name = "copy",
      keyword = "copy", text = "$dtype$extents $to$to_strides = $from$from_strides{ until $waited_at}";
  static constexpr bool by_template = false;
  static bool shows(const CopyStep& step, std::string_view /*waited_at*/) { return step.waited_at >= 0; }
};
template <typename V, Is<CopyStep> T>
void visit_fields(V& v, T& x) {
  v("from", x.from, [&] { return role::reads(x.dtype, x.walks(x.from_strides)); });
  v("to", x.to, [&] { return role::writes(x.dtype, x.walks(x.to_strides)); });
  v("extents", x.extents, role::extent());
  v("from_strides", x.from_strides, role::stride), v("to_strides", x.to_strides, role::stride);
  v("dtype", x.dtype, role::attribute());
  v("waited_at", x.waited_at, role::attribute("the number of a step"));
}

}  // namespace smelt
