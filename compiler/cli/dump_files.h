// --dump-dir beside the numbered graphs of the pass manager: kernels as text and as LLVM IR, and the plan of
// memory.
#pragma once

#include <filesystem>

#include "compiler/compile.h"

namespace smelt::cli {

/// kernels/NAME.kernel, kernels/NAME.ll, memory.json; of what the compilation reached.
void write_dump_files(const Compilation& compilation, const std::filesystem::path& directory);

}  // namespace smelt::cli
