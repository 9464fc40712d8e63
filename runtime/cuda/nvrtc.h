// CUDA C++ to machine code, without a GPU: NVRTC, loaded when it is first needed, and a cache on the disk.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt {

struct CudaSource {
  std::string text;
  std::string name;         // of the kernel, for messages
  int only_capability = 0;  // of the GPU, whose own instructions it has; 0: none of any
};

/// Resources of a kernel, as ptxas reports them.
struct CudaResources {
  int registers = 0;
  int stack_bytes = 0, spill_bytes = 0;
  int shared_bytes = 0;     // static
  int serial_products = 0;  // warnings that wgmma waits for each product (C75xx)
};

struct Cubin {
  std::vector<std::byte> bytes;
  CudaResources resources;
  bool from_cache = false;
};

/// NVRTC's version and file, or why there is none and where it was looked for.
struct NvrtcInfo {
  bool available = false;
  int major = 0, minor = 0;
  std::string library;  // that was loaded
  std::string problem;  // where there is none
};
const NvrtcInfo& nvrtc_info();

/// Compiles to machine code for sm_NN, one cubin per source, on all threads of the machine. Throws Error with
/// NVRTC's log and the kernel's name if one does not compile, or is for another capability alone.
std::vector<Cubin> compile_cuda(const std::vector<CudaSource>& sources, int compute_capability);
Cubin compile_cuda(const CudaSource& source, int compute_capability);

/// Returns whether the code uses registers alone and multiplies asynchronously: a stack frame, spilled
/// registers or products that are waited for make a kernel slow.
bool is_lean(const CudaResources& resources);
/// Throws Error if the code needs more than registers.
void require_lean(const CudaSource& source, const CudaResources& resources);

}  // namespace smelt
