// The body of one kernel's function, and the properties that the text around it needs.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/printers/cuda_names.h"
#include "ir/kernel/kernel.h"

namespace smelt {

struct CudaBody {
  const Kernel* kernel = nullptr;
  CudaNames names;
  std::string text;
  std::vector<std::string> alignment_conditions;  // where they all hold it may read and write by vectors
  int64_t shared_floats = 0, shared_ints = 0;
};

/// `block`: the text of the number of the block of threads.
CudaBody print_body(const Kernel& kernel, const std::string& block);

}  // namespace smelt
