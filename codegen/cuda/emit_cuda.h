// Kernel IR -> CUDA C++ for one kernel: readable text that needs no header. The schedule (of a CUDA target)
// specifies how threads share the work; docs/cuda.md has the signature.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

/// `sources`: names of the nodes that the kernel computes, for the comment at its top.
std::string emit_cuda(const Kernel& kernel, const std::vector<std::string>& sources = {});

}  // namespace smelt
