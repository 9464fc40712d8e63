// StoredRows: the interface of tensors whose floats are computed from another form.
#pragma once

#include "runtime/engine/weights/packed_numbers.h"
#include "runtime/engine/weights/tensor_view.h"

namespace smelt {

/// A tensor that computes its floats. All functions may be called concurrently.
class StoredRows {
 public:
  virtual ~StoredRows() = default;
  /// Writes the floats of rows `begin` to `end` - 1. A tensor of one dim is one row; other tensors have
  /// shape[0] rows. Requires: `out` has exactly the size of these rows.
  virtual void read(int64_t begin, int64_t end, std::span<float> out) const = 0;
  /// Returns whether reading any row computes all rows.
  virtual bool reads_whole() const { return false; }
  /// Returns the packed numbers; null if the tensor's elements are floats in another order.
  virtual const PackedNumbers* packed() const { return nullptr; }
  /// Returns a part of the stored bytes, by which copies of a checkpoint are compared.
  virtual std::span<const std::byte> stored() const = 0;
};

/// Returns the view of a tensor that `source` computes.
TensorView computed_tensor(std::string name, DType dtype, std::vector<int64_t> shape,
                           std::shared_ptr<const StoredRows> source);

/// Returns the elements of one row: the product of all dims but the first; for one dim, its size.
int64_t row_elements(std::span<const int64_t> shape);
/// Returns the number of rows that StoredRows::read counts.
int64_t row_count(std::span<const int64_t> shape);

}  // namespace smelt
