// Queries about the vector accesses of a kernel: the loads, stores and random draws that can be made for
// vectors of adjacent columns. The choice of a schedule depends on their results. A block is a KernelBlock
// (ir/kernel/kernel.h), not a thread block.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// The vector accesses of one kernel.
class VectorAccesses {
 public:
  VectorAccesses(const Kernel& kernel, const KernelShape& shape) : k_(kernel), shape_(shape) {}

  /// Returns the bytes of the narrowest element that a vector access reads or writes; 0 if there is none.
  int64_t narrowest() const;
  /// Returns whether vector accesses with elements of at least 4 bytes outnumber those with narrower
  /// elements. Accesses to the same addresses in every row, such as those to a bias, are not counted.
  bool are_mostly_wide() const;
  /// Returns whether the kernel has a random draw for which one Philox call makes the bits of several
  /// adjacent columns (KernelShape::is_vector_random).
  bool draw_random() const;
  /// Returns whether a block has a load after a store. Such a block must process one element after the other,
  /// to keep the order of its accesses.
  bool need_order() const;
  /// Returns the largest number of vector loads in a block, at least 1.
  int64_t loads() const;
  /// Returns the largest number of bytes that a block's vector loads read per column.
  int64_t loaded_bytes() const;

 private:
  bool is_load(int id) const;
  int64_t bytes(int id) const;
  /// Returns the instructions that are vector accesses (KernelShape::is_vector_access).
  std::vector<int> all() const;

  const Kernel& k_;
  const KernelShape& shape_;
};

}  // namespace smelt
