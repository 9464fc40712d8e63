// --detect-anomaly: every f32 value that a step writes is checked right after the step. The first value that
// is not finite ends the run with an Error that names the operations which computed it.
#pragma once

#include <functional>
#include <memory>

#include "compiler/driver/compile.h"
#include "runtime/session/executor.h"

namespace smelt::cli {

/// Returns a function for ExecutorOptions::after_step. `fused`: the fused graphs of the compilation that made
/// the plan. Their values have layouts, which locate the values in the plan's buffers.
std::function<void(const StepDone&)> anomaly_detector(std::shared_ptr<const Plan> plan, const Module& fused);

}  // namespace smelt::cli
