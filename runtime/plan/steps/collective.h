// The step for collective operations: exchanges and sums of data between ranks.
#pragma once

#include <string>

#include "runtime/plan/steps/fields.h"
#include "runtime/ranks/communicator.h"

namespace smelt {

/// Names of the kinds of collectives, and of the operations of their sums, in the text of plans. The parse
/// functions return nothing if the name is unknown.
std::string_view name(CollectiveKind kind);  // "all_reduce"
std::optional<CollectiveKind> parse_collective_kind(std::string_view text);
std::string_view name(CollectiveSum sum);  // "add", "max"
std::optional<CollectiveSum> parse_collective_sum(std::string_view text);
/// Returns whether the operation combines the ranks' elements by a CollectiveSum (add or max).
inline bool is_sum(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
}

/// A collective operation (runtime/ranks/communicator.h) of the `ranks` ranks along a mesh axis. Its unit is
/// a part: `elements` contiguous elements. `from` has one part per rank, contiguously, for reduce_scatter and
/// all_to_all, and one part for the other kinds. `to` has one part per rank, contiguously, for all_gather and
/// all_to_all, and one part for the other kinds. All ranks of a group run their collective steps in the same
/// order.
///
/// The step does `rows` such operations. This is needed if the sharded dim is not the outermost dim of a
/// tensor. Row i is at from + i * from_stride and at to + i * to_stride.
struct CollectiveStep {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string axis;    // name of an axis of Plan::mesh
  BufferRef from, to;  // for all_reduce, they may be equal; otherwise they have no element in common
  Dim elements, ranks;
  DType dtype = DType::f32;
  CollectiveSum sum = CollectiveSum::add;  // for all_reduce and reduce_scatter
  /// On a GPU, the step may run concurrently with the steps after it, up to the step with this index, which
  /// waits for it. If the index is the number of steps of the entry, the end of the entry waits. -1: the next
  /// step waits. No step between this one and the waiting one uses `to` or writes to `from`.
  int waited_at = -1;
  Dim rows = 1, from_stride = 0, to_stride = 0;  // strides are in elements; rows of `to` do not overlap

  bool reads_parts() const {
    return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_to_all;
  }
  bool writes_parts() const {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
  }
  /// Return the number of elements per row of `from` and of `to`.
  Dim from_elements() const { return reads_parts() ? elements * ranks : elements; }
  Dim to_elements() const { return writes_parts() ? elements * ranks : elements; }

  /// Returns the axes (extent and stride) that enumerate the elements of `from` or `to`. `stride` is
  /// from_stride or to_stride, and `all_parts` is true if each row has one part per rank.
  std::vector<Walk> walks(const Dim& stride, bool all_parts) const {
    std::vector<Walk> all;
    if (!rows.is_one()) all.push_back({rows, stride});
    if (all_parts) all.push_back({ranks, elements});
    all.push_back({elements});
    return all;
  }
};

template <>
struct StepKind<CollectiveStep> {
  static constexpr std::string_view name = "collective", keyword = "collective",
                                    text =
                                        "$collective{ $sum} $dtype $to{($to_stride)} = $from{($from_stride)} "
                                        "of $elements over $axis x $ranks"
                                        "{ rows $rows}{ until $waited_at}",
                                    description =
                                        "{$rows rows of }$collective of $elements elements along $axis";
  static constexpr bool by_template = false;
  static bool shows(const CollectiveStep& step, std::string_view field) {
    if (field == "sum") return is_sum(step.kind);
    return field == "waited_at" ? step.waited_at >= 0 : !step.rows.is_one();
  }
};
template <typename V, Is<CollectiveStep> T>
void visit_fields(V& v, T& x) {
  v("collective", x.kind, role::attribute("all_reduce, reduce_scatter, all_gather or all_to_all"));
  v("axis", x.axis, role::attribute("an axis of the mesh"));
  v("from", x.from, [&] { return role::reads(x.dtype, x.walks(x.from_stride, x.reads_parts())); });
  v("to", x.to, [&] { return role::writes(x.dtype, x.walks(x.to_stride, x.writes_parts())); });
  v("elements", x.elements, role::extent()), v("ranks", x.ranks, role::extent());
  v("dtype", x.dtype, role::attribute()), v("sum", x.sum, role::attribute("add or max"));
  v("waited_at", x.waited_at, role::attribute("the number of a step"));
  v("rows", x.rows, role::extent()), v("from_stride", x.from_stride, role::stride);
  v("to_stride", x.to_stride, role::stride);
}

}  // namespace smelt
