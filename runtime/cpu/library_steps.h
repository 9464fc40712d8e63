// Library steps on the CPU: functions of steps that no compiled kernel computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/dtype.h"
#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"
#include "runtime/sampling/draw_settings.h"

namespace smelt {

// ---- sample.cpp
// Sampling of tokens from rows of scores.

/// Sizes of a sample step (runtime/plan/steps/sample.h): `rows` rows of `count` scores. Strides are the
/// elements from row to row.
struct SampleSizes {
  int64_t rows = 0, count = 0, row_stride = 0, numbers_stride = kDrawNumbers, integers_stride = kDrawIntegers;
};

/// Draws one token per row, and writes it and the log of its probability, as runtime/plan/steps/sample.h
/// specifies. `numbers` and `integers` are the sampling settings of each row.
void sample(const SampleSizes& sizes, const float* scores, const float* numbers, const int32_t* integers,
            int32_t* tokens, float* log_probabilities);

// ---- scan.cpp
// Running sums, maxima and products along one axis.

/// Sizes of a scan step (runtime/plan/steps/scan.h): x and y are [outer, count, inner], and the scan is along
/// the second axis. Strides are in elements.
struct ScanSizes {
  int64_t outer = 0, count = 0, inner = 0;
  int64_t x_outer_stride = 0, x_stride = 0, y_outer_stride = 0, y_stride = 0;
  std::string kind = "add";  // "add", "max" or "mul"
  bool exclusive = false;    // true: element i is not part of result i
  DType dtype = DType::f32;
};

/// Computes the scan of x, whose type is f32, i64 or i32, as runtime/plan/steps/scan.h specifies. Sums and
/// products of floats are computed in f64 and rounded to f32; those of integers wrap around.
void scan(const ScanSizes& sizes, const void* x, void* y);

// ---- sort_index.cpp
// Stable counting sort of indices. With sorted indices, a scatter-add adds in a fixed order.

/// Sorts `count` indices. permutation[i] is the position in `indices` of the i-th smallest index; equal
/// indices are in the order of their positions. The positions with the index r are permutation[begins[r]] to
/// permutation[begins[r+1] - 1], where `begins` has rows + 1 numbers. Positions whose index is not in [0,
/// rows) come last, from permutation[begins[rows]] on.
void sort_index(const int32_t* indices, int64_t count, int64_t rows, int32_t* permutation, int32_t* begins);

// ---- top_k.cpp
// The k largest elements of each row.

/// Sizes of a top_k step. A row has `count` elements, and rows are `row_stride` elements apart.
struct TopKSizes {
  int64_t rows = 0, count = 0, row_stride = 0, k = 1;
};

/// Writes the k largest elements of each row, in decreasing order, and their indices in the row; equal
/// elements are in the order of their indices, and a NaN counts as larger than any number. Both results are
/// [rows, k]. If a row has fewer than k elements, the remaining values are -infinity, and their indices -1.
void top_k(const TopKSizes& sizes, const float* x, float* values, int32_t* indices);

// ---- dequantize.cpp
// Floats of packed numbers.

/// Sizes of a dequantize step (runtime/plan/steps/dequantize.h); codes_stride is in bytes.
struct DequantizeSizes {
  int64_t rows = 0, columns = 0, groups = 1;
  int64_t codes_stride = 0, scales_stride = 0, zeros_stride = 0;
  DType dtype = DType::f32;
};

/// Writes the dense numbers [rows, columns]. `zeros` may be null.
void dequantize(const DequantizeSizes& sizes, const PackedFormat& format, const uint8_t* codes,
                const std::byte* scales, const int8_t* zeros, std::byte* to);

// ---- collective.cpp
// Collectives between processes.

/// Sizes of a collective step (runtime/plan/steps/collective.h): `rows` operations of the same sizes, which
/// run one after another.
struct CollectiveSizes {
  CollectiveKind kind = CollectiveKind::all_reduce;
  size_t axis = 0;           // number of the mesh axis
  int64_t ranks = 1;         // ranks along the axis
  int64_t from = 0, to = 0;  // bytes of a row that the operation reads and writes
  DType dtype = DType::f32;
  CollectiveSum sum = CollectiveSum::add;
  int64_t rows = 1, from_stride = 0, to_stride = 0;  // strides: bytes from row to row
};

/// Runs the collective with the other ranks along the axis. For all_reduce, `from` and `to` may be equal.
/// `ranks` may be null if there is one rank along the axis.
void run_collective(const CollectiveSizes& sizes, const std::byte* from, std::byte* to, RankGroups* ranks);

}  // namespace smelt
