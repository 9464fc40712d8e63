// Sizes that are near each other as one: choices that are made by measuring hold for all of them.
#pragma once

#include <bit>
#include <cstdint>

namespace smelt::cuda {

/// Rounds up to a quarter of a power of two; the smallest sizes stay unchanged.
constexpr int64_t size_bucket(int64_t size) {
  if (size <= 8) return size;
  const int64_t step = int64_t{1} << (std::bit_width(static_cast<uint64_t>(size - 1)) - 3);
  return (size + step - 1) / step * step;
}

}  // namespace smelt::cuda
