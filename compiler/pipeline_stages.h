// What the compiler does for a plan that is one stage of a pipeline.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"

namespace smelt {

/// What of the options keeps a pipeline of stages from being trained; empty: nothing does. A search for plans
/// asks it too, before it offers stages.
std::vector<std::string> why_no_stages(const CompileOptions& options);

/// Throws one Error that names everything that a pipeline cannot be put together with.
void check_stages(const CompileOptions& options);

/// The graphs of the loss and of @evaluate become the parts of them that lie on the stage of the options; all
/// others go.
void cut_model(Module& module, const CompileOptions& options, const Target& target);

}  // namespace smelt
