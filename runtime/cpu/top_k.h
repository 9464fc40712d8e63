// The largest elements of rows.
#pragma once

#include <cstdint>

namespace smelt {

struct TopKSizes {
  int64_t rows = 0, count = 0, row_stride = 0, k = 1;
};

/// Computes what runtime/plan/steps/top_k.h specifies.
void top_k(const TopKSizes& sizes, const float* x, float* values, int32_t* indices);

}  // namespace smelt
