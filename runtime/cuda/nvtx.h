// Named ranges on the timelines of NVIDIA's profilers.
#pragma once

#include <string>

namespace smelt::cuda {

/// Marks a range on this thread for as long as the object lives. It does nothing if no profiler is attached,
/// or where the headers of NVTX 3 were missing when this was built.
class Range {
 public:
  explicit Range(const std::string& name);
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range();
};

/// Returns the version of NVTX that is built in: 3; 0 for none.
int nvtx_version();

}  // namespace smelt::cuda
