// What `smelt report` and `smelt diff` are given: a plan's file, or a description that is compiled here.
#pragma once

#include <string>
#include <vector>

#include "compiler/cli/adapters.h"
#include "compiler/cli/compile_flags.h"
#include "compiler/report/reported_plan.h"

namespace smelt::cli {

/// Compiles a description, with adapters, up to its program, explaining fusion; loads a plan. `entries`: only
/// these; of a plan, those that it has. Throws Error where there is none of them.
ReportedPlan read_reported_plan(const std::string& path, const CompileFlags& flags,
                                const AdapterFlags& adapters, const std::vector<std::string>& entries);

}  // namespace smelt::cli
