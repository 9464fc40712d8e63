// A trial run of one kernel on a GPU of this machine, with buffers that the trial allocates, to measure the
// time and to get the results.
#pragma once

#include <vector>

#include "ir/kernel/kernel.h"
#include "runtime/base/dim.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/memory.h"

namespace smelt::cuda {

/// One kernel, at fixed sizes, with the buffers of its trial runs.
class KernelTrial {
 public:
  /// Returns false for kernels that read indices or segment bounds from memory, because the generated numbers
  /// of a trial would not be valid indices.
  static bool is_possible(const Kernel& kernel);
  /// Returns the bytes of all buffers that the kernel accesses if the symbols have these values. A trial
  /// allocates one or more copies of these buffers.
  static int64_t bytes(const Kernel& kernel, const SymbolValues& values);

  /// Allocates buffers and fills them with generated numbers.
  KernelTrial(const Device& device, const Kernel& kernel, const SymbolValues& values);

  /// Returns the seconds per run of `function`, the kernel compiled for this schedule. Returns infinity if it
  /// cannot be launched.
  double seconds(Function function, const Schedule& schedule);
  /// Runs `function` and returns the elements of each output, in the order of the parameters. The inputs are
  /// the same in each call. If an output has several slices of partial sums, their sum is returned.
  std::vector<std::vector<float>> results(Function function, const Schedule& schedule);

 private:
  KernelLaunch launch_of(Function function, const Schedule& schedule, int copy) const;
  std::vector<float> sum_of_slices(const std::vector<float>& slices, const Dim& elements) const;
  void fill(int copy);

  const Device& device_;
  Kernel kernel_;
  SymbolValues values_;
  std::vector<int64_t> offsets_, sizes_;  // of each parameter within a copy, in bytes
  int64_t copy_bytes_ = 0;
  /// Number of copies of all buffers. Runs use the copies in turn, so that the L2 cache does not hold the
  /// next run's inputs.
  int copies_ = 1;
  DeviceBlock memory_, random_;  // all copies of the buffers; the key of the random numbers
  StreamOwner stream_;
};

}  // namespace smelt::cuda
