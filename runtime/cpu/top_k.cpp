#include "runtime/cpu/library_steps.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <vector>

#include "runtime/cpu/bind_step.h"

namespace smelt {
namespace {

/// An element and its index as one number, larger ones before smaller ones: 32 bits in the order of the
/// floats (NaN above all, both zeros equal), then those of the index, complemented.
uint64_t entry_of(float x, int64_t index) {
  const auto bits = std::bit_cast<uint32_t>(x == 0 ? 0.0f : x);
  const uint32_t key = x != x ? UINT32_MAX : (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return uint64_t{key} << 32 | ~static_cast<uint32_t>(index);
}

int32_t index_of(uint64_t entry) { return static_cast<int32_t>(~static_cast<uint32_t>(entry)); }

/// The k largest entries so far, the least of them first in the heap.
void keep_largest(std::vector<uint64_t>& heap, size_t k, uint64_t entry) {
  if (heap.size() == k) {
    if (entry < heap.front()) return;
    std::ranges::pop_heap(heap, std::greater<>());
    heap.pop_back();
  }
  heap.push_back(entry);
  std::ranges::push_heap(heap, std::greater<>());
}

void top_k_of_row(const TopKSizes& sizes, const float* x, float* values, int32_t* indices) {
  std::vector<uint64_t> heap;
  for (int64_t i = 0; i < sizes.count; ++i)
    keep_largest(heap, static_cast<size_t>(sizes.k), entry_of(x[i], i));
  std::ranges::sort(heap, std::greater<>());
  for (int64_t i = 0; i < sizes.k; ++i) {
    const bool found = i < static_cast<int64_t>(heap.size());
    indices[i] = found ? index_of(heap[static_cast<size_t>(i)]) : -1;
    values[i] = found ? x[indices[i]] : -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

void top_k(const TopKSizes& sizes, const float* x, float* values, int32_t* indices) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t row = 0; row < sizes.rows; ++row)
    top_k_of_row(sizes, x + row * sizes.row_stride, values + row * sizes.k, indices + row * sizes.k);
}

Launch bind_step(const TopKStep& step, StepBinder& binder) {
  return [x = binder.pointer<float>(step.x), values = binder.pointer<float>(step.values),
          indices = binder.pointer<int32_t>(step.indices),
          sizes = TopKSizes{binder.value(step.rows), binder.value(step.count), binder.value(step.row_stride),
                            binder.value(step.k)}](const StepRun&) { top_k(sizes, x, values, indices); };
}

}  // namespace smelt
