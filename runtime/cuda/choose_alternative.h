// Which alternative of a choice an entry of known sizes takes.
#pragma once

#include <functional>

#include "runtime/cuda/resolve.h"
#include "runtime/cuda/step_choices.h"
#include "runtime/plan/choices.h"

namespace smelt::cuda {

/// How alternatives are measured: `launch` enqueues one step; where `waits`, it may wait for it.
struct Measuring {
  const Device& device;
  Stream stream;
  std::function<void(size_t step, bool waits)> launch;
};

/// Of the choice that `step` is the first of: what `choices` know, else the fastest, which they keep. Those
/// with kernels that this GPU has not the instructions of are left out.
int choose_alternative(const Plan& plan, const ResolvedEntry& resolved, size_t step, StepChoices& choices,
                       const Measuring& measuring);

}  // namespace smelt::cuda
