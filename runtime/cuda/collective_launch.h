// A collective step of a plan, with numbers and addresses in place of symbolic sizes and operands.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/dtype.h"
#include "runtime/cuda/driver.h"
#include "runtime/ranks/communicator.h"

namespace smelt::cuda {

/// The collective moves parts of `elements` elements. The operand at `from` and the result at `to` each have
/// one part, or one part per rank, depending on `kind` (runtime/plan/steps/collective.h). The step runs
/// `rows` such operations, one per row. The strides are the distances between rows, in elements.
struct CollectiveLaunch {
  CollectiveKind kind = CollectiveKind::all_reduce;
  size_t axis = 0;    // number of the mesh axis
  int64_t ranks = 1;  // ranks along the axis
  DevicePointer from = 0, to = 0;
  int64_t elements = 0;  // per part
  DType dtype = DType::f32;
  CollectiveSum sum = CollectiveSum::add;
  /// Index of the step that waits for the collective. If it is the number of steps of the entry, the end of
  /// the entry waits.
  size_t waited_at = 0;
  bool waited_at_once = false;  // true: the next step waits
  int64_t rows = 1, from_stride = 0, to_stride = 0;
  /// Overlap with matmuls (runtime/plan/row_parts.h). read_in_parts: the waiting step is a matmul that
  /// computes with each part as soon as it has arrived. made_in_parts: the step before is a matmul that sends
  /// each part of its result as soon as it is computed, so the collective step itself launches nothing.
  bool read_in_parts = false, made_in_parts = false;
  bool own_part_is_there = false;  // true: this rank's part is already in `to`, so it is not copied
  bool same_place = true;  // true: `to` has the same offset in its buffer and the same stride at all ranks

  int64_t part_bytes() const { return elements * size_of(dtype); }
  /// Returns whether `to` has one part from each rank.
  bool writes_parts() const {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
  }
  /// Returns the collective that has only the row with this number.
  CollectiveLaunch row(int64_t number) const;
};

}  // namespace smelt::cuda
