// Kernel IR -> CUDA C++ for one kernel. The text is readable and includes no header. The kernel's schedule
// specifies how threads share the work; docs/dev/cuda.md has the signature of the CUDA function.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

/// Returns the kernel's CUDA C++ text. Requires: the kernel has a schedule for a GPU. `sources`: names of the
/// graph nodes that the kernel computes, for the comment at the top of the text.
std::string emit_cuda(const Kernel& kernel, const std::vector<std::string>& sources = {});

}  // namespace smelt
