// Keys of the kernels' random numbers, {seed, step, micro-step} on the device: one for the whole batch, and
// one for every part of a batch that a plan's kernels draw for (RandomPart), with the micro-step of that
// part.
#pragma once

#include <vector>

#include "runtime/base/philox.h"
#include "runtime/cuda/memory.h"
#include "runtime/plan/plan.h"

namespace smelt::cuda {

class RandomKeys {
 public:
  RandomKeys() = default;
  RandomKeys(const Device& device, const Plan& plan, const std::shared_ptr<const Allocator>& allocator);

  /// Returns the key of a launch. Throws Error if it draws for several parts, because a launch has one key.
  DevicePointer address(const KernelStep& step, const std::string& place) const;
  DevicePointer whole() const { return block_.get(); }
  /// Sends the keys that have changed. `values` has the rank's coordinates.
  void upload(const Philox& random, const SymbolValues& values, Stream stream);

 private:
  std::vector<RandomPart> parts_;  // different ones; the first is the whole
  std::vector<uint32_t> sent_;
  DeviceBlock block_;
};

}  // namespace smelt::cuda
