// A kernel alone on a GPU of this machine, on memory of its own: how long it
// takes, and what it writes.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/memory.h"
#include "runtime/dim.h"

namespace smelt::cuda {

class KernelTrial {
 public:
  /// False for kernels that read where other memory tells them, which nothing made up stands for.
  static bool is_possible(const Kernel& kernel);
  /// All memory that the kernel touches, once, in bytes, where the symbols have these values.
  static int64_t bytes(const Kernel& kernel, const SymbolValues& values);

  KernelTrial(const Device& device, const Kernel& kernel, const SymbolValues& values);

  /// Seconds a run of the same kernel by another schedule; infinity where it cannot be launched.
  double seconds(Function function, const Schedule& schedule);
  /// What is written to each output, as numbers, from the same inputs each time; partial sums are added up.
  std::vector<std::vector<float>> results(Function function, const Schedule& schedule);

 private:
  KernelLaunch launch_of(Function function, const Schedule& schedule, int copy) const;
  std::vector<float> sum_of_slices(const std::vector<float>& slices, const Dim& elements) const;
  void fill(int copy);

  const Device& device_;
  Kernel kernel_;
  SymbolValues values_;
  std::vector<int64_t> offsets_, sizes_;  // by param, in bytes
  int64_t copy_bytes_ = 0;
  int copies_ = 1;  // so many that no cache holds what the next run reads
  DeviceBlock memory_, random_;
  StreamOwner stream_;
};

}  // namespace smelt::cuda
