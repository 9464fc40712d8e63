// A collective step with its sizes evaluated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/dtype.h"
#include "runtime/cuda/driver.h"
#include "runtime/ranks/communicator.h"

namespace smelt::cuda {

struct CollectiveLaunch {
  CollectiveKind kind = CollectiveKind::all_reduce;
  size_t axis = 0;  // of the mesh
  int64_t ranks = 1;
  DevicePointer from = 0, to = 0;
  int64_t elements = 0;  // of a part
  DType dtype = DType::f32;
  CollectiveSum sum = CollectiveSum::add;
  size_t waited_at = 0;                              // a step of the entry, or their number
  bool waited_at_once = false;                       // by the next step
  int64_t rows = 1, from_stride = 0, to_stride = 0;  // elements
  /// The step that waits for it is a product that begins with the parts that have come (row_parts.h); or the
  /// step before it is one that sends the parts that are done, and then nothing is left to begin.
  bool read_in_parts = false, made_in_parts = false;
  bool own_part_is_there = false;  // in `to`, so that it is not copied there
  bool same_place = true;          // at all ranks `to` begins at one offset, with rows one distance apart

  int64_t part_bytes() const { return elements * size_of(dtype); }
  /// Every rank's `to` has a part of each.
  bool writes_parts() const {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
  }
  /// One of its rows by itself.
  CollectiveLaunch row(int64_t number) const;
};

}  // namespace smelt::cuda
