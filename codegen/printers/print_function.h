// Thread IR -> C++ of GPUs: functions.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/thread_ir/function.h"
#include "codegen/printers/language.h"

namespace smelt {

/// Returns the parameters, separated by commas.
std::string print(const std::vector<gpu::Parameter>& parameters);
/// Returns the device function; of one with two forms, a template, and a function that chooses between its
/// instances.
std::string print(const Language& language, const gpu::Function& function);
/// Returns the launched function after its device functions.
std::string print(const Language& language, const gpu::Launch& launch);
/// Returns the declarations of the arrays shared_floats and shared_ints.
std::string print_shared_arrays(const Language& language, int64_t floats, int64_t ints);

}  // namespace smelt
