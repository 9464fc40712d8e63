#include <fmt/ranges.h>

#include "runtime/base/tensor.h"

#include "runtime/base/error.h"

namespace smelt {

int64_t count_elements(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      fail("a shape with a size of {} has no 64-bit number of elements", size);
  return count;
}

std::string describe(DType dtype, std::span<const int64_t> shape) {
  return fmt::format("{}[{}]", name(dtype), fmt::join(shape, ","));
}

}  // namespace smelt
