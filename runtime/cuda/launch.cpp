#include "runtime/cuda/launch.h"

namespace smelt::cuda {

Driver::Code KernelLaunch::run(Stream stream) const {
  if (blocks == 0) return 0;
  std::vector<void*> arguments;
  arguments.reserve(values.size());
  for (const uint64_t& value : values)
    arguments.push_back(const_cast<uint64_t*>(&value));  // they are only read
  return driver().LaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared_bytes, stream, arguments.data(),
                               nullptr);
}

}  // namespace smelt::cuda
