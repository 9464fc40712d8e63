// Random values for initial weights. The values have the same bits on every machine, because they are
// computed in doubles by additions, multiplications, divisions and square roots in a fixed order, without
// fused operations. codegen/cuda/device/initialize/draws.cuh does the same on GPUs.
#pragma once

#include <cstdint>

#include "runtime/base/philox.h"

namespace smelt {

/// A sequence of random numbers. `philox` and `id` select the sequence; `scale` is the scale of the numbers.
class Draws {
 public:
  static constexpr int64_t kGroup = 4;  // elements that one evaluation of Philox makes

  Draws(const Philox& philox, uint32_t id, double scale) : philox_(philox), id_(id), scale_(scale) {}

  /// Writes elements first ... first + count - 1 of the sequence, uniform in [-scale, scale], to `out`.
  void uniform(int64_t first, int64_t count, float* out) const;
  /// Does the same for numbers that are normally distributed with standard deviation `scale` (Box-Muller
  /// method). The relative error before the rounding to f32 is about 2^-50.
  void normal(int64_t first, int64_t count, float* out) const;

 private:
  Philox philox_;
  uint32_t id_;
  double scale_;
};

}  // namespace smelt
