#include "codegen/hip/hip_pieces.h"

#include "codegen/hip/device_text.h"

namespace smelt {

const Prelude& hip_pieces() {
  static const Prelude pieces{hip_device::kPreludeMemory, hip_device::kPreludeFunctions,
                              hip_device::kPreludeThreads};
  return pieces;
}

}  // namespace smelt
