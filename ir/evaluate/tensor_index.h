// Strides of tensors, and lists of element offsets. A loop over such a list visits the elements of a tensor
// of any rank.
#pragma once

#include <cstdint>
#include <vector>

namespace smelt {

using Sizes = std::vector<int64_t>;

/// Returns the number of elements of a tensor.
inline int64_t element_count(const Sizes& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

/// Returns the strides, in elements, of a dense row-major tensor.
inline Sizes row_major_strides(const Sizes& shape) {
  Sizes strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Returns the offsets base + sum_i index[i] * strides[i] for all indices in `shape`, in row-major order.
inline std::vector<int64_t> offsets(const Sizes& shape, const Sizes& strides, int64_t base = 0) {
  std::vector<int64_t> list{base};
  list.reserve(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < shape.size(); ++i) {
    // Each offset so far is replaced by shape[i] offsets, one per index along dim i.
    std::vector<int64_t> longer;
    longer.reserve(list.size() * static_cast<size_t>(shape[i]));
    for (int64_t start : list)
      for (int64_t j = 0; j < shape[i]; ++j) longer.push_back(start + j * strides[i]);
    list = std::move(longer);
  }
  return list;
}

/// View of a tensor as [outer, size, inner] around one axis.
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
  AxisView(const Sizes& shape, int64_t axis) : size(shape[static_cast<size_t>(axis)]) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (static_cast<int64_t>(i) < axis) outer *= shape[i];
      if (static_cast<int64_t>(i) > axis) inner *= shape[i];
    }
  }
};

}  // namespace smelt
