// The body of a kernel as CUDA text: its function, and its arguments.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/printers/cuda_names.h"
#include "ir/kernel/kernel.h"

namespace smelt {

// ---- print_body.cpp
// The body of one kernel's function, and the properties that the text around it needs.

struct CudaBody {
  const Kernel* kernel = nullptr;
  CudaNames names;
  std::string text;
  std::vector<std::string> alignment_conditions;  // if all hold, the body may access memory by vectors
  int64_t shared_floats = 0, shared_ints = 0;
};

/// `block`: an expression for the number of the thread block.
CudaBody print_body(const Kernel& kernel, const std::string& block);

// ---- kernel_function.cpp
// A kernel's body as a function of the device, for kernels that call more than one.

/// Returns the parameters that the host passes: one for each of the kernel's, with a prefix before its name.
std::string pointer_parameters(const CudaBody& body, const std::string& prefix);
/// Returns the parameters after the pointers: `random`, the sizes, the ids of random instructions, and
/// `range_`.
std::string number_parameters(const CudaBody& body);
/// Returns the expression for a size in the launched function: a constant, or the name of a parameter.
std::string number_of(const CudaNames& names, const Dim& dim);

/// Returns whether the body has a vector form and a scalar form. The sizes at launch decide between the two,
/// so function_of makes a template.
bool has_two_forms(const CudaBody& body);
/// name(pointers, numbers, unsigned block_, float* shared_floats, int* shared_ints)
std::string function_of(const CudaBody& body, const std::string& name);
/// Returns the arguments of a call of function_of's function: `block`, and variables that have the names of
/// the other parameters.
std::string function_arguments(const CudaBody& body, const std::string& block);

// ---- body_arguments.cpp
// The arguments of a kernel's body that a template calls, as a struct that its functions take.

/// struct BodyArguments: random numbers' keys, parameters, sizes, ids.
std::string body_arguments(const Kernel& kernel, const CudaNames& names);
/// Returns the initializers of the members of BodyArguments: the parameters of the launched function, by
/// name.
std::string body_argument_list(const Kernel& kernel, const CudaNames& names);
/// Returns a function with the signature `head`, which has a parameter `const BodyArguments& body`. The
/// function defines local variables for the members of `body` that `text` names, and continues with `text`.
std::string body_function(const Kernel& kernel, const CudaNames& names, const std::string& head,
                          const std::string& text);

}  // namespace smelt
