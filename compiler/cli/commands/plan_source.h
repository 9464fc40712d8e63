// The arguments of `smelt report` and `smelt diff`: plan files, or descriptions of models, which are
// compiled.
#pragma once

#include <string>
#include <vector>

#include "compiler/cli/shared/adapters.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/report/reported_plan.h"

namespace smelt::cli {

/// Returns one plan per path. A plan file is loaded, and only the entries that the flags name are kept, or
/// all if they name none. A description is compiled, but no machine code is generated. The compilation
/// includes the adapter of `adapters`, if there is one, and records the reasons for fusion decisions. Throws
/// Error if a plan file does not have an entry that the flags name, or if all paths are plan files and
/// options are given that only a compilation reads.
std::vector<ReportedPlan> read_reported_plans(const std::vector<std::string>& paths,
                                              const CompileFlags& flags, const AdapterFlags& adapters);

}  // namespace smelt::cli
