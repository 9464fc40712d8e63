// HIP kernels without a GPU: their text is compiled and run as CUDA text is (cuda_on_host.h), whose device.h
// also has the functions that HIP text calls on a host.
#pragma once

#include "codegen/hip/emit_hip.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {

inline std::string hip_host_text(const Kernel& kernel) { return emit_hip(kernel); }

}  // namespace smelt::test
