// Whether vectors can be read and written at once: the places that they start from are multiples of their
// bytes.
#pragma once

#include <vector>

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel.h"

namespace smelt {

struct VectorAlignment {
  enum class When : uint8_t { never, always, sometimes };
  /// What a launch has to hold for `sometimes`: a size that is a multiple of so many elements.
  struct Condition {
    Dim size;
    int64_t elements = 1;
  };
  When when = When::always;
  std::vector<Condition> conditions = {};
};

/// Of an access along the columns, by the schedule's vectors of at most 16 bytes.
VectorAlignment vector_alignment(const Kernel& kernel, const KernelShape& shape, int id);

}  // namespace smelt
