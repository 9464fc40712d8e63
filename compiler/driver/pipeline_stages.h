// Properties of pipeline parallelism and of sharding that the compiler's options and passes depend on.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace smelt {

// ---- pipeline_stages.cpp
// Checks of the options for a plan that is one stage of a pipeline.

/// Returns one sentence per option that prevents training with pipeline stages; empty if none does. If the
/// result is not empty, the search for plans (compiler/search/plan_search.h) skips meshes with stages.
std::vector<std::string> why_no_stages(const CompileOptions& options);

/// Throws an Error if why_no_stages returns any sentences, or if options.stage is not a stage of the mesh.
/// The Error has all of these sentences.
void check_stages(const CompileOptions& options);

// ---- sharing.cpp
// Properties of sharding that decide which passes run.

/// Returns whether any parameter is sharded over ranks.
bool shares_parameters(const Module& module);
/// Returns the number of pipeline stages; 1 if the mesh has no axis `stage`.
int64_t pipeline_stages(const Mesh& mesh);

}  // namespace smelt
