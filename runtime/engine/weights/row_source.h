// RowSource: the interface of tensors whose floats are computed from another form, and PackedNumbers, a
// description of that form for consumers that keep weights packed.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/engine/weights/tensor_view.h"

namespace smelt {

/// Packed numbers of a matrix [rows, columns]. Element (r, c) is (code - zero point) * scale, where a group
/// of `group_rows` x `group_columns` elements has one scale and one zero point. All spans point into the
/// checkpoint's memory.
struct PackedNumbers {
  /// Meaning of one code. `block`: codes, scales and zero points are interleaved in blocks of `format`.
  enum class Code : uint8_t { integer, lookup, float8_e4m3, block };

  std::string_view format;  // name for messages: "Q4_K", "gptq", ...
  Code code = Code::integer;
  int bits = 0;  // per code; for `block`: of the integers in a block
  int64_t rows = 0, columns = 0;
  int64_t group_rows = 1, group_columns = 0;
  TensorView codes;                     // as stored
  std::optional<TensorView> scales;     // nothing: they are in the blocks
  std::optional<TensorView> zeros;      // nothing: the zero point is `zero`
  int zero = 0;                         // zero point of all groups, or an addend to each stored one
  std::optional<TensorView> groups;     // I32 [columns], the group of each column; nothing: in order
  std::vector<int64_t> row_order = {};  // stored row of each row of the tensor; empty: in order
  std::vector<float> table = {};        // for `lookup`: the value of each code
  DType rounded_to = DType::f32;        // type to which the format's reference rounds each element
};

/// A tensor that computes its floats. All functions may be called concurrently.
class RowSource {
 public:
  virtual ~RowSource() = default;
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
                           std::shared_ptr<const RowSource> source);

/// Returns the elements of one row: the product of all dims but the first; for one dim, its size.
int64_t row_elements(std::span<const int64_t> shape);
/// Returns the number of rows that RowSource::read counts.
int64_t row_count(std::span<const int64_t> shape);

}  // namespace smelt
