// Copies of strided boxes and fills, on all threads where they are large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/dtype.h"

namespace smelt {

struct CopyAxis {
  int64_t extent, from, to;  // strides in elements
};

/// A copy prepared once for its sizes: axes are collapsed, and the axis of contiguous memory is innermost.
class PreparedCopy {
 public:
  PreparedCopy() = default;
  PreparedCopy(std::vector<CopyAxis> axes, int64_t element_bytes);
  void run(const std::byte* from, std::byte* to) const;

 private:
  void copy_line(const std::byte* from, std::byte* to, int64_t line) const;
  std::vector<CopyAxis> axes_;  // in bytes; the last one is copied by one inner loop
  int64_t lines_ = 0, element_bytes_ = 1;
};

/// Fills `count` elements with one value, rounded to the type.
void fill(std::byte* to, int64_t count, DType dtype, double value);

}  // namespace smelt
