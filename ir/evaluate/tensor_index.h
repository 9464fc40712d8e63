// Strides and lists of element offsets: loops over tensors of any rank become loops over one list.
#pragma once

#include <cstdint>
#include <vector>

namespace smelt {

using Sizes = std::vector<int64_t>;

inline int64_t element_count(const Sizes& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

inline Sizes row_major_strides(const Sizes& shape) {
  Sizes strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Returns the offsets of all elements of a box of `shape` with `strides` from `base`, in row-major order.
inline std::vector<int64_t> offsets(const Sizes& shape, const Sizes& strides, int64_t base = 0) {
  std::vector<int64_t> list{base};
  list.reserve(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < shape.size(); ++i) {
    // Dim i multiplies the list: every offset so far, followed by its shifts along i.
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
