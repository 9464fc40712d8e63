// Running sums, maxima and products along one axis.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/dtype.h"

namespace smelt {

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

}  // namespace smelt
