// Thread IR -> CUDA C++: statements.
#pragma once

#include "codegen/cuda/printers/cuda_language.h"
#include "codegen/printers/print_statements.h"

namespace smelt {

inline std::string print(const gpu::Body& body, size_t depth = 0) { return print(kCuda, body, depth); }

}  // namespace smelt
