// Printing of a kernel's body as CUDA text: its statements, a device function that contains them, and a
// struct of its arguments.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/lower/lower_body.h"
#include "ir/kernel/kernel.h"

namespace smelt {

// ---- print_body.cpp
// The statements of one kernel, and the properties that the text around them needs.

struct CudaBody {
  const Kernel* kernel = nullptr;
  gpu::KernelNames names;
  std::string text;
  /// Conditions on the sizes at launch under which all vectors are aligned. If all hold, the code around the
  /// text may define the constant `aligned` as true; the body then accesses memory by vectors. Empty if the
  /// text does not use `aligned`.
  std::vector<std::string> alignment_conditions;
  int64_t shared_floats = 0, shared_ints = 0;  // elements of the arrays shared_floats and shared_ints
};

/// Returns the body. `block`: the number of the thread block.
CudaBody print_body(const Kernel& kernel, const gpu::Expr& block);

// ---- kernel_function.cpp
// A kernel's body as a device function, for a __global__ function ("launched function") that runs several
// kernels.

/// Returns the pointer parameters of the launched function, one per parameter of the kernel. `prefix` comes
/// before each name.
std::string pointer_parameters(const CudaBody& body, const std::string& prefix);
/// Returns the parameters after the pointers: `random` (the key of the random numbers), the sizes, the ids of
/// random instructions, and `range_` (the value of Kernel::range).
std::string number_parameters(const CudaBody& body);
/// Returns the expression for a size in the launched function: a constant, or the name of a parameter.
std::string number_of(const gpu::KernelNames& names, const Dim& dim);

/// Returns whether the body has two forms: one that accesses memory by vectors, and one that accesses it by
/// scalars. The sizes at launch determine the form that runs. function_of then returns a template with the
/// two forms, and a function that chooses between them.
bool has_two_forms(const CudaBody& body);
/// Returns the text of the device function name(pointers, numbers, unsigned block_, float* shared_floats,
/// int* shared_ints).
std::string function_of(const CudaBody& body, const std::string& name);
/// Returns the arguments of a call of function_of's function: `block`, and variables that have the names of
/// the other parameters.
std::string function_arguments(const CudaBody& body, const std::string& block);

// ---- body_arguments.cpp
// Some kernels are CUDA templates that call device functions, such as the functions of an epilogue. These
// functions are printed from a Kernel. All of them get the kernel's arguments in one struct.

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
