// The arguments of a kernel's body that a template calls, as a struct that its functions take.
#pragma once

#include <string>

#include "codegen/cuda/printers/cuda_names.h"
#include "ir/kernel/kernel.h"

namespace smelt {

/// struct BodyArguments: random numbers' keys, parameters, sizes, ids.
std::string body_arguments(const Kernel& kernel, const CudaNames& names);
/// Returns the initializers of its members, from the host's arguments, under the names of a kernel's
/// parameters.
std::string body_argument_list(const Kernel& kernel, const CudaNames& names);
/// A function with a parameter `const BodyArguments& body`, whose members that `text` names come first.
std::string body_function(const Kernel& kernel, const CudaNames& names, const std::string& head,
                          const std::string& text);

}  // namespace smelt
