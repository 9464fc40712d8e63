#include "runtime/cuda/launch.h"

namespace smelt::cuda {

Driver::Code KernelLaunch::run(Stream stream) const {
  if (blocks == 0) return 0;
  std::vector<void*> arguments;
  arguments.reserve(maps.size() + values.size());
  for (const DriverTensorMap& map : maps) arguments.push_back(const_cast<DriverTensorMap*>(&map));
  for (size_t i = 0; i < values.size(); i += i == 0 ? together : 1)
    arguments.push_back(const_cast<uint64_t*>(&values[i]));  // they are only read
  return driver().LaunchKernel(function, blocks, copies, 1, threads, 1, 1, shared_bytes, stream,
                               arguments.data(), nullptr);
}

}  // namespace smelt::cuda
