// Choice of an algorithm by measured time. A choice (Choice in runtime/plan/plan.h) is work for which an
// entry of a plan has several lists of steps, its alternatives. Only one of them runs.
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
// Keys under which results of measurements are stored: the properties that decide which alternative is the
// fastest on a device.

/// Returns the key of a choice. It consists of the names of the alternatives, the sizes of their steps
/// (rounded up by size_bucket), and a checksum of the steps and of their kernels' code. `choice` is the range
/// of the steps of all alternatives. Layers of a model with the same steps and sizes have the same key, so
/// that only one of these layers is measured.
std::string choice_key(const Plan& plan, const PlanEntry& entry, const StepSpan& choice,
                       const SymbolValues& values);

// ---- choose_alternative.cpp
// Choice among the alternatives of an entry whose sizes are known.

/// Device, stream and function for a measurement.
struct Measuring {
  const Device& device;
  Stream stream;
  /// Enqueues the step with this number on `stream`. `waits`: the function may wait for the device; false
  /// while the work is captured in a graph.
  std::function<void(size_t step, bool waits)> launch;
};

/// Returns the number of the alternative to run for the choice that `step` belongs to. This is the
/// alternative that `choices` (step_choices.h) has for the choice's key. If there is none, the alternatives
/// are measured, and the fastest is added to `choices`. Alternatives are ignored if their kernels need
/// instructions that this GPU lacks, or if Choice::last_where excludes them for these sizes.
int choose_alternative(const Plan& plan, const ResolvedEntry& resolved, size_t step, StepChoices& choices,
                       const Measuring& measuring);

// ---- fastest.cpp
// Measurement of several variants of the same work.

/// Returns the number of the fastest of `ways` variants. graph_of(way, times) returns a graph that runs
/// variant `way` `times` times in sequence. Requires: each variant has run before. The least time of each
/// variant counts.
size_t fastest(const Device& device, Stream stream, size_t ways,
               const std::function<GraphOwner(size_t way, int times)>& graph_of);

// ---- sizes
// Buckets of sizes: the result of a measurement is used for all sizes of a bucket.

/// Returns the largest size of the bucket of `size`. Between two powers of two there are four buckets of
/// equal width; each size up to 8 is a separate bucket.
constexpr int64_t size_bucket(int64_t size) {
  if (size <= 8) return size;
  const int64_t step = int64_t{1} << (std::bit_width(static_cast<uint64_t>(size - 1)) - 3);
  return (size + step - 1) / step * step;
}

}  // namespace smelt::cuda
