// Random low-rank adapters for the slots of a plan.
#pragma once

#include <cstdint>
#include <random>
#include <utility>

#include "runtime/plan/adapter_interface.h"

namespace smelt::testing {

/// Returns matrices of normal numbers for all linear maps with slots. Their rank, 1 + seed modulo the rank of
/// the slots, is also smaller than that for some seeds.
inline AdapterWeights random_adapter(const AdapterInterface& interface, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.2F);
  AdapterWeights weights;
  for (const AdaptedLinear& linear : interface.linears) {
    AdapterMatrices matrices{linear.module, 1 + static_cast<int64_t>(seed) % interface.rank, {}, {}};
    matrices.a.resize(static_cast<size_t>(matrices.rank * linear.in));
    matrices.b.resize(static_cast<size_t>(matrices.rank * linear.out));
    for (float& value : matrices.a) value = normal(random);
    for (float& value : matrices.b) value = normal(random);
    weights.linears.push_back(std::move(matrices));
  }
  return weights;
}

}  // namespace smelt::testing
