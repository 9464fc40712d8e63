// Named ranges on the timelines of NVIDIA's profilers.
#pragma once

#include <string>

namespace smelt::cuda {

/// From its making to its end, on this thread. Nothing where no profiler looks, or where the headers of NVTX
/// 3 were not there when this was built.
class Range {
 public:
  explicit Range(const std::string& name);
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range();
};

/// Of NVTX, as built in: 3; 0 for none.
int nvtx_version();

}  // namespace smelt::cuda
