// Compilation of CUDA C++ to machine code by NVRTC, which needs no GPU. NVRTC is loaded when it is first
// needed. Results are cached on disk (cubin_cache.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt {

/// CUDA C++ source of one kernel.
struct CudaSource {
  std::string text;
  std::string name;         // of the kernel, for messages
  int only_capability = 0;  // the only compute capability with the kernel's instructions (sm_90a: 90); 0: any
  bool contracts = true;    // a product and a sum may become one instruction, which rounds once
};

/// Resources of a kernel, as ptxas reports them.
struct CudaResources {
  int registers = 0;
  int stack_bytes = 0, spill_bytes = 0;
  int shared_bytes = 0;     // static shared memory
  int serial_products = 0;  // number of ptxas warnings (C75xx) that wgmma instructions are serialized
};

/// Machine code of one kernel. `from_cache`: it was read from the cache on disk, not compiled.
struct Cubin {
  std::vector<std::byte> bytes;
  CudaResources resources;
  bool from_cache = false;
};

/// Version and file of NVRTC, or the reason why it cannot be loaded.
struct NvrtcInfo {
  bool available = false;
  int major = 0, minor = 0;
  std::string library;  // file that was loaded; empty if not available
  std::string problem;  // reason and searched files, for messages; empty if available
};
/// Loads NVRTC in the first call.
const NvrtcInfo& nvrtc_info();

/// Compiles the sources for a compute capability (90 for sm_90) on all threads of the machine, and returns
/// one cubin per source. Throws Error if NVRTC is not available. Throws Error with the kernel's name if a
/// source does not compile (the message has NVRTC's log), or if its only_capability is neither 0 nor
/// `compute_capability`.
std::vector<Cubin> compile_cuda(const std::vector<CudaSource>& sources, int compute_capability);
Cubin compile_cuda(const CudaSource& source, int compute_capability);

/// Returns whether the code has no stack frame, no spilled registers and no serialized wgmma, each of which
/// makes a kernel slow.
bool is_lean(const CudaResources& resources);
/// Throws Error with the kernel's name if the code is not lean.
void require_lean(const CudaSource& source, const CudaResources& resources);

}  // namespace smelt
