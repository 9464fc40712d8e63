// Which alternative of a choice an entry of known sizes takes.
#pragma once

#include <functional>

#include "runtime/cuda/resolve.h"
#include "runtime/cuda/step_choices.h"
#include "runtime/plan/choices.h"

namespace smelt::cuda {

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

}  // namespace smelt::cuda
