// One launch of a kernel with its arguments laid out.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cuda/driver.h"

namespace smelt::cuda {

struct KernelLaunch {
  Function function = nullptr;
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
  std::vector<DriverTensorMap> maps;  // the first arguments
  std::vector<uint64_t> values;       // every other argument in eight bytes
  size_t together = 1;                // first values that form one argument: a struct of pointers
  unsigned copies = 1;                // rows of blocks
  bool waits = false;                 // the kernel does, for launches in front
  bool dependent = false;             // so this one may begin before those have ended

  explicit operator bool() const { return function != nullptr; }
  /// A status for check(); nothing to do where there are no blocks.
  Driver::Code run(Stream stream) const;
};

}  // namespace smelt::cuda
