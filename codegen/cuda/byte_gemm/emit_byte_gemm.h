// The CUDA text of a kernel that multiplies any number of rows by weights that are bytes, with an epilogue
// for each element (byte_gemm_text.h), and the TMA tensor maps of its launch.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.h"

namespace smelt {

/// Returns the text of the kernel. Requires: GemmKernel::is_byte_gemm, and a schedule.
std::string emit_byte_gemm(const Kernel& kernel);
/// Returns the tensor maps of A and B.
std::vector<TensorMap> byte_gemm_maps(const Kernel& kernel);

}  // namespace smelt
