#include "runtime/cuda/launch.h"

namespace smelt::cuda {
namespace {

Driver::Code run_dependent(const KernelLaunch& launch, Stream stream, void** arguments) {
  LaunchAttribute dependent{.id = LaunchAttribute::kDependent, .value = 1};
  const LaunchConfig config = {.grid = {launch.blocks, launch.copies, 1},
                               .block = {launch.threads, 1, 1},
                               .shared_bytes = launch.shared_bytes,
                               .stream = stream,
                               .attributes = &dependent,
                               .attribute_count = 1};
  return driver().LaunchKernelEx(&config, launch.function, arguments, nullptr);
}

}  // namespace

Driver::Code KernelLaunch::run(Stream stream) const {
  if (blocks == 0) return 0;
  std::vector<void*> arguments;
  arguments.reserve(maps.size() + values.size());
  for (const DriverTensorMap& map : maps) arguments.push_back(const_cast<DriverTensorMap*>(&map));
  for (size_t i = 0; i < values.size(); i += i == 0 ? together : 1)
    arguments.push_back(const_cast<uint64_t*>(&values[i]));  // they are only read
  if (dependent) return run_dependent(*this, stream, arguments.data());
  return driver().LaunchKernel(function, blocks, copies, 1, threads, 1, 1, shared_bytes, stream,
                               arguments.data(), nullptr);
}

}  // namespace smelt::cuda
