// One launch of a kernel: the function, its grid and its arguments.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cuda/driver.h"

namespace smelt::cuda {

struct KernelLaunch {
  Function function = nullptr;
  unsigned blocks = 0, threads = 0, shared_bytes = 0;  // threads and dynamic shared memory per block
  std::vector<DriverTensorMap> maps;                   // the first arguments
  std::vector<uint64_t> values;                        // the other arguments, each in eight bytes
  size_t together = 1;     // the first `together` values form one argument: a struct of pointers
  unsigned copies = 1;     // height of the grid, whose width is `blocks`
  bool waits = false;      // the kernel itself waits for earlier launches (programmatic dependent launch)
  bool dependent = false;  // requires `waits`: this launch may begin before earlier ones have ended

  explicit operator bool() const { return function != nullptr; }
  /// Enqueues the launch, and returns the driver's status for check(). If `blocks` is 0, does nothing and
  /// returns 0.
  Driver::Code run(Stream stream) const;
};

}  // namespace smelt::cuda
