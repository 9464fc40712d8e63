// The argument of `smelt report` and `smelt diff`: a plan file, or a description that is compiled here.
#pragma once

#include <string>
#include <vector>

#include "compiler/cli/shared/adapters.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/report/reported_plan.h"

namespace smelt::cli {

/// Compiles descriptions, with adapters, up to their programs, explaining fusion; loads plans, of which it
/// keeps the entries that the flags name. Throws Error where a plan has none of them, and where all paths are
/// plans and the flags give options that only a compilation reads.
std::vector<ReportedPlan> read_reported_plans(const std::vector<std::string>& paths,
                                              const CompileFlags& flags, const AdapterFlags& adapters);

}  // namespace smelt::cli
