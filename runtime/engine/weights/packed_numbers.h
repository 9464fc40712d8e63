// PackedNumbers: small numbers with scales and zero points, in which most formats store the weights of a
// quantised model. It describes the stored data, so that a consumer can compute with them instead of floats.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/engine/weights/tensor_view.h"

namespace smelt {

/// A matrix of numbers of a few bits.
struct PackedMatrix {
  /// words: integers without sign in 32-bit words. int8, float8 (E4M3): a byte each. nibbles: two per byte,
  /// the first in the high half, which are codes of a table. block: in blocks of GGUF, with their scales.
  enum class Kind : uint8_t { words, int8, float8, nibbles, block };

  Kind kind = Kind::words;
  TensorView stored = {};
  int bits = 8;
  /// Distances, in words or bytes, between neighbours (or for words, between successive words) of a column
  /// and of a row.
  int64_t row_stride = 0, column_stride = 0;
  bool packs_rows = false;   // words: a word has integers of one column; else of one row
  bool interleaved = false;  // words: integer i of 8 is at the place of AWQ's order
  int addend = 0;            // added to each integer

  /// Returns the number; for nibbles, the code. Requires: not `block`.
  float at(int64_t row, int64_t column) const;
};

/// Scales, of which element (r, g) is that of row group r and column group g.
struct PackedScales {
  TensorView stored = {};                    // F32, F16 or BF16
  int64_t row_stride = 0, group_stride = 0;  // in elements

  float at(int64_t row, int64_t group) const;
};

/// Element (r, c) of the matrix is (number - zero point) * scale * factor, where `group_rows` x
/// `group_columns` elements have one scale and one zero point. All views point into the checkpoint's memory.
struct PackedNumbers {
  std::string_view format;  // name for messages: "Q4_K", "gptq", ...
  int64_t rows = 0, columns = 0;
  int64_t group_rows = 1, group_columns = 1;
  PackedMatrix numbers = {};
  std::optional<PackedScales> scales = {};  // nothing: all are 1, or are in the blocks
  std::optional<PackedMatrix> zeros = {};   // by row group and column group; nothing: all are 0
  float factor = 1;
  std::vector<int32_t> groups = {};     // column group of each column; empty: c / group_columns
  std::vector<float> table = {};        // values of nibbles
  std::vector<int64_t> row_order = {};  // stored row of each row of the tensor; empty: in order
  DType rounded_to = DType::f32;        // type to which the format's reference rounds an element
};

/// Returns the value of a float of 8 bits, of which 4 are the exponent and 3 the mantissa (E4M3, no
/// infinity).
float from_float8(uint8_t bits);
/// Rounds to the nearest value of a float type, ties to even.
float rounded(float value, DType type);

}  // namespace smelt
