// Kernel IR -> a device function of the thread IR, for a launched function that runs several kernels.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/lower/kernel_names.h"
#include "codegen/gpu/lower/lower_body.h"
#include "codegen/gpu/thread_ir/function.h"

namespace smelt::gpu {

/// Returns the pointer parameters of the launched function, one per parameter of the kernel. `prefix` comes
/// before each name.
std::vector<Parameter> pointer_parameters(const Kernel& kernel, const KernelNames& names,
                                          const std::string& prefix);
/// Returns the parameters after the pointers: `random` (the key of the random numbers), the sizes, the ids of
/// random instructions, and `range_` (the value of Kernel::range).
std::vector<Parameter> number_parameters(const Kernel& kernel, const KernelNames& names);

/// Returns the parameter of a device function that has the number of the thread block.
Expr block_parameter();
/// Returns the function name(pointers, numbers, block_, shared_floats, shared_ints) with the code of a
/// kernel.
Function function_of(const Kernel& kernel, const std::string& name, LoweredBody body);

/// Arguments of a call of function_of's function.
struct KernelCall {
  std::string prefix;        // of the pointer parameters of the launched function
  const KernelNames& names;  // of the sizes that the launched function has
  Expr range, block;
};
std::vector<Expr> arguments_of(const Kernel& kernel, const KernelNames& own, const KernelCall& call);

}  // namespace smelt::gpu
