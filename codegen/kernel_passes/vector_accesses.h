// What a kernel reads, writes and draws by vectors of neighbouring columns.
#pragma once

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel.h"

namespace smelt {

class VectorAccesses {
 public:
  VectorAccesses(const Kernel& kernel, const KernelShape& shape) : k_(kernel), shape_(shape) {}

  /// Bytes of the narrowest element; 0 where nothing is accessed by vector.
  int64_t narrowest() const;
  /// Of what differs from row to row more is f32.
  bool are_mostly_wide() const;
  /// Philox makes the decisions of a vector at once.
  bool draw_random() const;
  /// A block that reads after it has written keeps its order only element by element.
  bool need_order() const;
  /// Of the block that has most: loads, at least 1, and the bytes of one element of each.
  int64_t loads() const;
  int64_t loaded_bytes() const;

 private:
  bool is_load(int id) const;
  int64_t bytes(int id) const;
  /// Instructions that stand in a block and read or write memory by vector.
  std::vector<int> all() const;

  const Kernel& k_;
  const KernelShape& shape_;
};

}  // namespace smelt
