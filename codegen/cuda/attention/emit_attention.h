// The CUDA text of a kernel of attention: its body as functions, the template, and a kernel that takes
// arguments as all others do.
#pragma once

#include <string>

#include "ir/kernel/kernel.h"

namespace smelt {

std::string emit_attention(const Kernel& kernel);

}  // namespace smelt
