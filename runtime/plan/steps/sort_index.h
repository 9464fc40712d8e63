// The step that sorts indices.
#pragma once

#include "runtime/plan/steps/fields.h"

namespace smelt {

/// Sorts the positions 0 to count - 1 of `indices` by the index that is stored at each position; positions
/// with equal indices keep their order. For each r from 0 to rows - 1, the positions at which the index is r
/// are permutation[begins[r]], ..., permutation[begins[r + 1] - 1]. All operands are dense and of type i32;
/// `begins` has rows + 1 elements. Positions of indices outside [0, rows) are left out.
struct SortIndexStep {
  struct Workspace {
    BufferRef base;
    Dim elements;
  };
  BufferRef indices, permutation, begins;
  Dim count, rows;
  std::optional<Workspace> workspace = {};  // scratch memory, i32; only if a GPU sorts many indices
};

template <typename V, Is<SortIndexStep::Workspace> T>
void visit_fields(V& v, T& x) {
  v("base", x.base), v("elements", x.elements);
}

template <>
struct StepKind<SortIndexStep> {
  static constexpr std::string_view
      name = "sort_index",
      keyword = "sort_index",
      text = "$indices -> $permutation, $begins of $count below $rows{ by $workspace}",
      description = "sort of $count indices below $rows";
  static constexpr bool by_template = true;
  static bool shows(const SortIndexStep& step, std::string_view /*workspace*/) {
    return step.workspace.has_value();
  }
};
template <typename V, Is<SortIndexStep> T>
void visit_fields(V& v, T& x) {
  v("indices", x.indices, [&] { return role::reads(DType::i32, {{x.count}}); });
  v("permutation", x.permutation, [&] { return role::writes(DType::i32, {{x.count}}, {{0, x.count - 1}}); });
  v("begins", x.begins, [&] { return role::writes(DType::i32, {{x.rows + 1}}, {{0, x.count}}); });
  v("count", x.count, role::extent(0, INT32_MAX)), v("rows", x.rows, role::extent(0, INT32_MAX - 1));
  v("workspace", x.workspace,
    [&] { return role::Operand{PlaceUse::scratch, DType::i32, {{x.workspace->elements}}}; });
}

}  // namespace smelt
