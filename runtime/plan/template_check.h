// That kernels which are templates can be launched: every name that they are given a value by is one.
#pragma once

#include <span>
#include <string>

#include "runtime/plan/plan.h"

namespace smelt {

/// Of a kernel with a TemplateLaunch, whoever launches it. Throws Error (invalid_file).
void check_template(const KernelCode& kernel);

/// That the step has what its templates (Step::kernels, or the kernel of a KernelStep) are launched with.
/// Throws Error (invalid_file) with `place`.
void check_templates(const Plan& plan, const Step& step, const std::string& place);

/// What templates do instead of the runtime, they do all of: of those that are launched, each reads of the
/// results only what one before it has written. Throws Error (invalid_file) with `place`.
void check_results(const Plan& plan, const Step& step, std::span<const int> kernels,
                   const std::string& place);

}  // namespace smelt
