// Files of --dump-dir other than the numbered graphs of the pass manager: kernels as Kernel IR and as LLVM IR
// or CUDA C++, and the memory plan.
#pragma once

#include <filesystem>

#include "compiler/driver/compile.h"

namespace smelt::cli {

/// Writes kernels/NAME.kernel, kernels/NAME.ll (for a CPU) or kernels/NAME.cu (for a GPU), and memory.json.
/// Writes nothing if the compilation ended before it had a program.
void write_dump_files(const Compilation& compilation, const std::filesystem::path& directory);

}  // namespace smelt::cli
