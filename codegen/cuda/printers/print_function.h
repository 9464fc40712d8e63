// Thread IR -> CUDA C++: functions.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/lower/kernel_names.h"
#include "codegen/gpu/thread_ir/function.h"

namespace smelt {

/// Returns the parameters, separated by commas.
std::string print(const std::vector<gpu::Parameter>& parameters);
/// Returns the device function; of one with two forms, a template, and a function that chooses between its
/// instances.
std::string print(const gpu::Function& function);
/// Returns the launched function after its device functions.
std::string print(const gpu::Launch& launch);
/// Returns the declarations of the arrays shared_floats and shared_ints.
std::string print_shared_arrays(int64_t floats, int64_t ints);
/// Returns the expression for a size in the launched function: a constant, or the name of a parameter.
std::string number_of(const gpu::KernelNames& names, const Dim& dim);

}  // namespace smelt
