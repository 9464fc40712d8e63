// Properties of sharding that the order of the compiler's passes depends on.
#pragma once

#include "compiler/driver/compile.h"

namespace smelt {

/// Returns whether ranks have parts of any parameter.
bool shares_parameters(const Module& module);
/// The stages of pipeline parallelism; 1 where there is none.
int64_t pipeline_stages(const Mesh& mesh);

}  // namespace smelt
