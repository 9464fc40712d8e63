// Alignment of vectors: a vector can be read and written in one access if its address is a multiple of its
// size.
#pragma once

#include <vector>

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"

namespace smelt {

struct VectorAlignment {
  enum class When : uint8_t { never, always, sometimes };
  /// The condition of `sometimes` at a launch: `size` is a multiple of a number of elements.
  struct Condition {
    Dim size;
    int64_t elements = 1;
  };
  When when = When::always;
  std::vector<Condition> conditions = {};
};

/// Returns the alignment of an access along the columns, by the schedule's vectors of at most 16 bytes.
VectorAlignment vector_alignment(const Kernel& kernel, const KernelShape& shape, int id);

}  // namespace smelt
