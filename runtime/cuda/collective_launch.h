// A collective step with its sizes evaluated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/driver.h"
#include "runtime/dtype.h"
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
  int64_t rows = 1, from_stride = 0, to_stride = 0;  // elements
  bool same_place = true;  // at all ranks `to` begins at one offset, with rows one distance apart

  int64_t part_bytes() const { return elements * size_of(dtype); }
  /// Every rank's `to` has a part of each.
  bool writes_parts() const {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
  }
  /// One of its rows by itself.
  CollectiveLaunch row(int64_t number) const;
};

}  // namespace smelt::cuda
