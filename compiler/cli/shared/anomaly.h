// --detect-anomaly: every value that a step writes is checked right after the step, and the first that is not
// finite ends the run with the names of the operations it came from.
#pragma once

#include <functional>
#include <memory>

#include "compiler/driver/compile.h"
#include "runtime/session/executor.h"

namespace smelt::cli {

/// An ExecutorOptions::after_step for plans of this compilation.
std::function<void(const StepDone&)> anomaly_detector(std::shared_ptr<const Plan> plan, const Module& fused);

}  // namespace smelt::cli
