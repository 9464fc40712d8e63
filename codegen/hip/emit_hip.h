// Kernel IR -> HIP C++ for one kernel, for GPUs of AMD. The text is that of the thread IR from which CUDA C++
// is printed, too: readable, without headers, and for waves of 32 and of 64 lanes.
// docs/dev/adding_a_target.md says what is missing to run it.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

/// Returns the reason why a kernel has no HIP text: what it needs that GPUs of AMD lack. "" if it has one.
std::string why_no_hip(const Kernel& kernel);
/// Returns the kernel's HIP C++ text. Requires: the kernel has a schedule for a GPU. `sources`: names of the
/// graph nodes that the kernel computes, for the comment at the top of the text. Throws Error (unavailable)
/// with the kernel's name and why_no_hip.
std::string emit_hip(const Kernel& kernel, const std::vector<std::string>& sources = {});

}  // namespace smelt
