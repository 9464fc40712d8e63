// Keys of the kernels' random numbers, in device memory. A key is {seed, step, micro_step}, the members of
// Philox. There is one key for the whole batch. If kernels of the plan draw numbers for single parts of the
// batch (RandomPart), there is also one key per part, because Philox::of_part changes micro_step.
#pragma once

#include <vector>

#include "runtime/base/philox.h"
#include "runtime/cuda/memory.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

class RandomKeys {
 public:
  RandomKeys() = default;
  /// Allocates the keys that the plan needs. They are undefined until `upload`.
  RandomKeys(const Device& device, const Plan& plan, const std::shared_ptr<const Allocator>& allocator);

  /// Returns the device address of the key for a kernel step. Throws Error with `place`, a description of the
  /// step, if the step draws for several parts, because a launch has one key.
  DevicePointer address(const KernelStep& step, const std::string& place) const;
  /// Returns the device address of the key for the whole batch.
  DevicePointer whole() const { return block_.get(); }
  /// Enqueues a copy of the keys for this run to the device, if they differ from the last ones. `values` has
  /// the values of the symbols, among them the rank's coordinates in the mesh, on which parts depend.
  void upload(const Philox& random, const SymbolValues& values, Stream stream);

 private:
  std::vector<RandomPart> parts_;  // without duplicates; the first is the whole batch
  std::vector<uint32_t> sent_;     // words of all keys that were last sent
  DeviceBlock block_;
};

}  // namespace smelt::cuda
