// Copies of strided boxes (multi-dimensional ranges of elements), and fills. Large copies and fills use all
// OpenMP threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/dtype.h"

namespace smelt {

/// One axis of a box: its extent, and its strides in the source (`from`) and the destination (`to`), in
/// elements.
struct CopyAxis {
  int64_t extent, from, to;
};

/// A copy that is prepared once for its sizes and runs many times. Axes that continue each other in memory
/// are joined.
class PreparedCopy {
 public:
  PreparedCopy() = default;
  /// `axes` are listed from the outermost to the innermost. `element_bytes`: 1, 2, 4 or 8.
  PreparedCopy(std::vector<CopyAxis> axes, int64_t element_bytes);
  void run(const std::byte* from, std::byte* to) const;

 private:
  void copy_line(const std::byte* from, std::byte* to, int64_t line) const;
  std::vector<CopyAxis> axes_;  // strides in bytes; one loop copies the last axis, a line
  int64_t lines_ = 0, element_bytes_ = 1;
};

/// Fills `count` elements of the type with `value`, rounded to the type.
void fill(std::byte* to, int64_t count, DType dtype, double value);

}  // namespace smelt
