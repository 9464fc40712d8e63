// The reads, writes and random draws that a kernel makes by vectors of neighbouring columns.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"

namespace smelt {

class VectorAccesses {
 public:
  VectorAccesses(const Kernel& kernel, const KernelShape& shape) : k_(kernel), shape_(shape) {}

  /// Returns the bytes of the narrowest element; 0 where nothing is accessed by vector.
  int64_t narrowest() const;
  /// Returns whether, of the accesses that differ from row to row, more have elements of at least 4 bytes
  /// than narrower ones.
  bool are_mostly_wide() const;
  /// Returns whether Philox makes the decisions of a vector at once.
  bool draw_random() const;
  /// Returns whether a block reads after it has written, and so keeps its order only element by element.
  bool need_order() const;
  /// Return the loads of the block that has the most, at least 1, and the sum of the sizes of one element of
  /// each, in bytes.
  int64_t loads() const;
  int64_t loaded_bytes() const;

 private:
  bool is_load(int id) const;
  int64_t bytes(int id) const;
  /// Returns the instructions of the blocks that read or write memory by vector.
  std::vector<int> all() const;

  const Kernel& k_;
  const KernelShape& shape_;
};

}  // namespace smelt
