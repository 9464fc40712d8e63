// Alignment of vectors. A vector can be loaded or stored in one access if its address is a multiple of its
// size in bytes.
#pragma once

#include <vector>

#include "codegen/kernel_passes/kernel_shape.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// Whether the vectors of one load or store are aligned.
struct VectorAlignment {
  enum class When : uint8_t { never, always, sometimes };
  /// A condition on the sizes at a launch: `size` is a multiple of `elements`.
  struct Condition {
    Dim size;
    int64_t elements = 1;
  };
  When when = When::always;
  std::vector<Condition> conditions = {};  // for `sometimes`: all must hold
};

/// Returns the alignment of the vectors of instruction `id`, which loads or stores vectors. A vector has
/// Schedule::vector_width elements, but never more than 16 bytes.
VectorAlignment vector_alignment(const Kernel& kernel, const KernelShape& shape, int id);

}  // namespace smelt
