// Random values of initial weights, eight or sixteen lanes at a time. They are made by additions,
// multiplications, divisions and square roots of doubles in one order, each rounded by itself: a parameter
// has the same bits on any machine, GPUs among them (codegen/cuda/device/initialize/draws.cuh has the same
// operations).
#pragma once

#include <cstdint>

#include "runtime/base/philox.h"

namespace smelt {

class Draws {
 public:
  static constexpr int64_t kGroup = 4;  // elements that one call of Philox gives

  Draws(const Philox& philox, uint32_t id, double scale) : philox_(philox), id_(id), scale_(scale) {}

  /// Elements first ... first + count - 1 of the sequence: uniform in (-scale, scale).
  void uniform(int64_t first, int64_t count, float* out) const;
  /// Draws from a normal distribution of deviation `scale`, by Box and Muller: before the last rounding
  /// within about 2^-50 of the exact result.
  void normal(int64_t first, int64_t count, float* out) const;

 private:
  Philox philox_;
  uint32_t id_;
  double scale_;
};

}  // namespace smelt
