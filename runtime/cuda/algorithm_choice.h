// The choice among algorithms by measured time.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>

#include "runtime/cuda/device.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/resolve.h"
#include "runtime/cuda/step_choices.h"
#include "runtime/plan/choices.h"

namespace smelt::cuda {

// ---- choice_key.cpp
// Keys of choices: the properties that decide which alternative is the fastest on a device.

/// Returns a key of the names of the alternatives, the sizes of their steps, rounded up to a quarter of a
/// power of two, and a checksum of the steps and of their kernels' code. Equal layers have one key.
std::string choice_key(const Plan& plan, const PlanEntry& entry, const StepSpan& choice,
                       const SymbolValues& values);

// ---- choose_alternative.cpp
// Which alternative of a choice an entry of known sizes takes.

/// Measurement of alternatives: `launch` enqueues one step; if `waits`, it may wait for it.
struct Measuring {
  const Device& device;
  Stream stream;
  std::function<void(size_t step, bool waits)> launch;
};

/// Returns the alternative of the choice whose first step is `step`: the one in `choices`, or else the
/// fastest, which is added to `choices`. Alternatives whose kernels need instructions that this GPU lacks are
/// left out.
int choose_alternative(const Plan& plan, const ResolvedEntry& resolved, size_t step, StepChoices& choices,
                       const Measuring& measuring);

// ---- fastest.cpp
// Which of several ways to do the same work takes the least time on a device.

/// Returns the fastest variant. `graph_of(way, times)` is a graph of `times` consecutive runs of a variant
/// that has run before. Variants are measured in turns, so that changes of the clock affect all equally; the
/// least time of each counts.
size_t fastest(const Device& device, Stream stream, size_t ways,
               const std::function<GraphOwner(size_t way, int times)>& graph_of);

// ---- sizes
// Sizes that are near each other as one: choices that are made by measuring hold for all of them.

/// Rounds up to a quarter of a power of two; the smallest sizes stay unchanged.
constexpr int64_t size_bucket(int64_t size) {
  if (size <= 8) return size;
  const int64_t step = int64_t{1} << (std::bit_width(static_cast<uint64_t>(size - 1)) - 3);
  return (size + step - 1) / step * step;
}

}  // namespace smelt::cuda
