// Arguments of the device functions that templates call, such as the functions of an epilogue. These
// functions are made from a Kernel. All of them get the kernel's arguments in one struct.
#pragma once

#include <string>

#include "codegen/gpu/lower/kernel_names.h"

namespace smelt {

/// Returns the text of struct BodyArguments. Its members are the key of the random numbers, the kernel's
/// parameters, the sizes, and the ids of random instructions.
std::string body_arguments(const Kernel& kernel, const gpu::KernelNames& names);
/// Returns the initializers of the members of BodyArguments: the names of parameters of the launched
/// function.
std::string body_argument_list(const Kernel& kernel, const gpu::KernelNames& names);
/// Returns a function with the signature `head`, which has a parameter `const BodyArguments& body`. The
/// function defines local variables for the members of `body` that `text` names, and continues with `text`.
std::string body_function(const Kernel& kernel, const gpu::KernelNames& names, const std::string& head,
                          const std::string& text);

}  // namespace smelt
