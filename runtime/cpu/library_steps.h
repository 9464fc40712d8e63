// Library steps on the CPU.
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
// The tokens that are drawn from rows of scores.

/// Sizes of a sample (runtime/plan/steps/sample.h).
struct SampleSizes {
  int64_t rows = 0, count = 0, row_stride = 0, numbers_stride = kDrawNumbers, integers_stride = kDrawIntegers;
};

void sample(const SampleSizes& sizes, const float* scores, const float* numbers, const int32_t* integers,
            int32_t* tokens, float* log_probabilities);

// ---- scan.cpp
// Running sums, maxima and products along one axis.

/// Sizes of a scan (runtime/plan/steps/scan.h).
struct ScanSizes {
  int64_t outer = 0, count = 0, inner = 0;
  int64_t x_outer_stride = 0, x_stride = 0, y_outer_stride = 0, y_stride = 0;
  std::string kind = "add";
  bool exclusive = false;
  DType dtype = DType::f32;
};

/// Sums of floats are carried in double; whole numbers wrap around.
void scan(const ScanSizes& sizes, const void* x, void* y);

// ---- sort_index.cpp
// Stable counting sort of indices, which makes scatter-add deterministic.

/// permutation[i] is the position of the i-th smallest index, equal ones in order of position; row r's part
/// of it is [begins[r], begins[r+1]). `begins` has rows + 1 numbers. Indices outside [0, rows) come after
/// begins[rows].
void sort_index(const int32_t* indices, int64_t count, int64_t rows, int32_t* permutation, int32_t* begins);

// ---- top_k.cpp
// The largest elements of rows.

struct TopKSizes {
  int64_t rows = 0, count = 0, row_stride = 0, k = 1;
};

/// Computes what runtime/plan/steps/top_k.h specifies.
void top_k(const TopKSizes& sizes, const float* x, float* values, int32_t* indices);

// ---- collective.cpp
// A collective step with its sizes evaluated.

struct CollectiveSizes {
  CollectiveKind kind = CollectiveKind::all_reduce;
  size_t axis = 0;           // of the mesh
  int64_t ranks = 1;         // along it
  int64_t from = 0, to = 0;  // bytes of a row
  DType dtype = DType::f32;
  CollectiveSum sum = CollectiveSum::add;
  int64_t rows = 1, from_stride = 0, to_stride = 0;  // bytes
};

/// `from` and `to` may be one place in all_reduce. `ranks` may be null if there is one rank along the axis.
void run_collective(const CollectiveSizes& sizes, const std::byte* from, std::byte* to, RankGroups* ranks);

}  // namespace smelt
