// A kernel's body as a function of the device, for kernels that call more than one.
#pragma once

#include <string>

#include "codegen/cuda/printers/print_body.h"

namespace smelt {

/// Returns the parameters that the host passes: one for each of the kernel's, with a prefix before its name.
std::string pointer_parameters(const CudaBody& body, const std::string& prefix);
/// Returns the parameters after the pointers: random numbers' keys and sizes.
std::string number_parameters(const CudaBody& body);
/// Returns the name that the launch has for a size of one of its kernels.
std::string number_of(const CudaNames& names, const Dim& dim);

/// Returns whether the kernel runs by vectors where sizes that are known at launch allow it, and so is a
/// template.
bool has_two_forms(const CudaBody& body);
/// name(pointers, numbers, unsigned block_, float* shared_floats, int* shared_ints)
std::string function_of(const CudaBody& body, const std::string& name);
/// Returns the arguments of a call where they have the names of the function's parameters.
std::string function_arguments(const CudaBody& body, const std::string& block);

}  // namespace smelt
