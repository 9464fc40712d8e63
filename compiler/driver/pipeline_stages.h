// Properties of pipelines and of shared models that the order of the passes depends on.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace smelt {

// ---- pipeline_stages.cpp
// Compiler steps for a plan that is one stage of a pipeline.

/// Returns the options that prevent the training of a pipeline of stages; empty: none do. A search for plans
/// calls it, too, before it offers stages.
std::vector<std::string> why_no_stages(const CompileOptions& options);

/// Throws one Error that names all options that exclude a pipeline.
void check_stages(const CompileOptions& options);

// ---- sharing.cpp
// Properties of sharding that the order of the compiler's passes depends on.

/// Returns whether ranks have parts of any parameter.
bool shares_parameters(const Module& module);
/// The stages of pipeline parallelism; 1 where there is none.
int64_t pipeline_stages(const Mesh& mesh);

}  // namespace smelt
