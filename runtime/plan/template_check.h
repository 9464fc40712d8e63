// Checks that template kernels can be launched: every name in their expressions is defined.
#pragma once

#include <span>
#include <string>

#include "runtime/plan/plan.h"

namespace smelt {

/// Checks a kernel with a TemplateLaunch, independently of the steps that launch it. Throws Error
/// (invalid_file).
void check_template(const KernelCode& kernel);

/// Checks that the step has all values that its templates (Step::kernels, or the kernel of a KernelStep) are
/// launched with. Throws Error (invalid_file) with `place`.
void check_templates(const Plan& plan, const Step& step, const std::string& place);

/// Checks that the templates of a step replace all of it: each launched template reads only those results
/// that a template before it has written. Throws Error (invalid_file) with `place`.
void check_results(const Plan& plan, const Step& step, std::span<const int> kernels,
                   const std::string& place);

}  // namespace smelt
