// Kernel IR -> CUDA C++ for one kernel: text that needs no header and reads like what a person would write.
// The schedule (of a CUDA target) says how threads share the work; docs/cuda.md has the signature.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace smelt {

/// `sources`: names of the nodes that the kernel computes, for the comment at its top.
std::string emit_cuda(const Kernel& kernel, const std::vector<std::string>& sources = {});

/// For every kernel the names of the nodes that run it, each once, in the order of the steps.
std::vector<std::vector<std::string>> sources_of_kernels(const Program& program);

}  // namespace smelt
