// A trial of one kernel on a GPU of this machine, on memory of its own: its time, and its results.
#pragma once

#include <vector>

#include "ir/kernel/kernel.h"
#include "runtime/base/dim.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/memory.h"

namespace smelt::cuda {

class KernelTrial {
 public:
  /// Returns false for kernels that read addresses stored in other memory, because random data cannot replace
  /// these.
  static bool is_possible(const Kernel& kernel);
  /// Returns the bytes of one copy of all memory that the kernel touches, where the symbols have these
  /// values.
  static int64_t bytes(const Kernel& kernel, const SymbolValues& values);

  KernelTrial(const Device& device, const Kernel& kernel, const SymbolValues& values);

  /// Returns the seconds per run of the same kernel with another schedule; infinity where it cannot be
  /// launched.
  double seconds(Function function, const Schedule& schedule);
  /// Returns the values that are written to each output, as numbers, from the same inputs each time; partial
  /// sums are added up.
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
  int copies_ = 1;  // enough that no cache holds the inputs of the next run
  DeviceBlock memory_, random_;
  StreamOwner stream_;
};

}  // namespace smelt::cuda
