// Named ranges on the timelines of NVIDIA's profilers.
#pragma once

#include <string>

namespace smelt::cuda {

/// Named range of the current thread, from the constructor to the destructor. It does nothing if no profiler
/// is attached, or if the headers of NVTX 3 were missing when Smelt was built.
class Range {
 public:
  explicit Range(const std::string& name);
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range();
};

/// Returns the major version of NVTX that is built in: 3, or 0 if there is none.
int nvtx_version();

}  // namespace smelt::cuda
