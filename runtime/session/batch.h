// The inputs of one run of an entry, with memory of their own.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/plan/plan.h"

namespace smelt {

class Batch {
 public:
  /// Starts a new batch and reuses the memory of the old one.
  void clear();
  /// Adds a tensor of unspecified contents.
  std::byte* add(std::string_view name, DType dtype, std::vector<int64_t> shape);

  /// Null if there is none of that name.
  const HostTensor* find(std::string_view name) const;
  std::vector<InputTensor> inputs() const;
  /// Returns the tensors that the entry takes.
  std::vector<InputTensor> inputs_of(const PlanEntry& entry) const;

  int64_t tokens = 0;  // that the model reads, padding included; images count one each

 private:
  std::vector<HostTensor> tensors_;
  size_t used_ = 0;
};

}  // namespace smelt
