// Random values of initial weights, eight or sixteen lanes at a time. Every value is, to the last bit, what
// the plain formula over the C library's functions gives (`exact` below): a parameter has the same value on
// any machine.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/philox.h"

namespace smelt {

class Draws {
 public:
  static constexpr int64_t kGroup = 4;  // elements that one call of Philox gives

  Draws(const Philox& philox, uint32_t id, double scale) : philox_(philox), id_(id), scale_(scale) {}

  /// Elements first ... first + count - 1 of the sequence: uniform in (-scale, scale).
  void uniform(int64_t first, int64_t count, float* out) const;
  /// Normal with deviation `scale`, by Box and Muller.
  void normal(int64_t first, int64_t count, float* out) const;

  /// The definition of elements 4 group ... 4 group + 3.
  std::array<float, kGroup> exact_normal(int64_t group) const;
  std::array<float, kGroup> exact_uniform(int64_t group) const;

 private:
  Philox philox_;
  uint32_t id_;
  double scale_;
};

}  // namespace smelt
