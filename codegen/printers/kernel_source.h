// The source of one kernel whose code is thread IR: comments, the pieces of the prelude that it needs, and
// its functions. The source includes no header.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/thread_ir/function.h"
#include "codegen/printers/language.h"
#include "codegen/printers/prelude.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// Returns comments with the kernel's text, after names of the graph nodes that the kernel computes
/// (`sources`).
std::string kernel_comment(const Kernel& kernel, const std::vector<std::string>& sources);
/// Returns the source without comments about the kernel. `launch`: the kernel's code.
std::string kernel_source(const Language& language, const Prelude& prelude, const Kernel& kernel,
                          const gpu::Launch& launch);

}  // namespace smelt
