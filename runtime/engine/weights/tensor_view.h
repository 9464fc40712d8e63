// TensorView: one tensor of a checkpoint, dense or packed, and its conversion to floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"

namespace smelt {

class StoredRows;

/// One tensor, row-major. `bytes` may have any alignment, and is owned by a mapped file or by the caller.
struct TensorView {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  /// Computes the floats of a tensor that is stored in another form, such as packed numbers with scales
  /// (stored_rows.h). `bytes` is empty then, and `dtype` is the type to which the floats are rounded. Null:
  /// the elements are in `bytes`.
  std::shared_ptr<const StoredRows> source = nullptr;

  /// Returns the number of elements. Requires: the size of the shape does not overflow.
  int64_t elements() const;
};

/// Returns the type and shape in the spelling of the files, such as "F32 [768,2304]". For packed numbers, the
/// type is the name of their format, such as "Q4_K".
std::string describe(const TensorView& tensor);

/// Converts the elements of an F32, F16, BF16 or F64 tensor, or of a packed one, to floats. Throws Error if
/// the tensor has another type, if `out` does not have exactly its number of elements, or (numeric) if a
/// packed tensor's scales make a float that is NaN or infinite.
void read_floats(const TensorView& tensor, std::span<float> out);
std::vector<float> read_floats(const TensorView& tensor);

/// Returns whether two tensors have the same type and shape, and equal stored or computed elements.
bool have_equal_elements(const TensorView& a, const TensorView& b);

}  // namespace smelt
