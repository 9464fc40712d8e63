// Host tensors for one run of a plan's entry, with their memory.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Tensors by name. The batch owns their memory, and reuses it for the next tensors.
class Batch {
 public:
  /// Removes all tensors, and keeps their memory for later calls of add().
  void clear();
  /// Adds a tensor with unspecified contents, and returns its memory.
  std::byte* add(std::string_view name, DType dtype, std::vector<int64_t> shape);

  /// Returns the tensor with this name; null if there is none.
  const HostTensor* find(std::string_view name) const;
  /// Returns views of all tensors, which are valid until the batch changes.
  std::vector<InputTensor> inputs() const;
  /// Returns views of the tensors whose names are those of inputs of the entry.
  std::vector<InputTensor> inputs_of(const PlanEntry& entry) const;

  int64_t tokens = 0;  // number of tokens that the model reads, including padding; an image counts as one

 private:
  std::vector<HostTensor> tensors_;
  size_t used_ = 0;
};

}  // namespace smelt
