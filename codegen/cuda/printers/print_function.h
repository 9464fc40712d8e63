// Thread IR -> CUDA C++: functions.
#pragma once

#include "codegen/cuda/printers/print_expression.h"
#include "codegen/gpu/lower/kernel_names.h"
#include "codegen/printers/print_function.h"

namespace smelt {

inline std::string print(const gpu::Function& function) { return print(kCuda, function); }
inline std::string print(const gpu::Launch& launch) { return print(kCuda, launch); }
inline std::string print_shared_arrays(int64_t floats, int64_t ints) {
  return print_shared_arrays(kCuda, floats, ints);
}
/// Returns the expression for a size in the launched function: a constant, or the name of a parameter.
inline std::string number_of(const gpu::KernelNames& names, const Dim& dim) {
  return print(names.launched_dim(dim));
}

}  // namespace smelt
