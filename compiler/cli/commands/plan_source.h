// The argument of `smelt report` and `smelt diff`: a plan file, or a description that is compiled here.
#pragma once

#include <string>
#include <vector>

#include "compiler/cli/shared/adapters.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/report/reported_plan.h"

namespace smelt::cli {

/// Compiles a description, with adapters, up to its program, explaining fusion; loads a plan, of which it
/// keeps the entries that the flags name. Throws Error where there is none of them.
ReportedPlan read_reported_plan(const std::string& path, const CompileFlags& flags,
                                const AdapterFlags& adapters);

}  // namespace smelt::cli
