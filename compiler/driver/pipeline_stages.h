// Compiler steps for a plan that is one stage of a pipeline.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace smelt {

/// Returns the options that prevent the training of a pipeline of stages; empty: none do. A search for plans
/// calls it, too, before it offers stages.
std::vector<std::string> why_no_stages(const CompileOptions& options);

/// Throws one Error that names all options that exclude a pipeline.
void check_stages(const CompileOptions& options);

}  // namespace smelt
