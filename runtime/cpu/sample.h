// The tokens that are drawn from rows of scores.
#pragma once

#include <cstdint>

#include "runtime/sampling/draw_settings.h"

namespace smelt {

/// Sizes of a sample (runtime/plan/steps/sample.h).
struct SampleSizes {
  int64_t rows = 0, count = 0, row_stride = 0, numbers_stride = kDrawNumbers, integers_stride = kDrawIntegers;
};

void sample(const SampleSizes& sizes, const float* scores, const float* numbers, const int32_t* integers,
            int32_t* tokens, float* log_probabilities);

}  // namespace smelt
