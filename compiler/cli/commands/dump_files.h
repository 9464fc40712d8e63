// Files of --dump-dir other than the numbered graphs of the pass manager: kernels as text and as LLVM IR, and
// the memory plan.
#pragma once

#include <filesystem>

#include "compiler/driver/compile.h"

namespace smelt::cli {

/// kernels/NAME.kernel, kernels/NAME.ll, memory.json; of what the compilation reached.
void write_dump_files(const Compilation& compilation, const std::filesystem::path& directory);

}  // namespace smelt::cli
