#include "runtime/session/batch.h"

#include <algorithm>

namespace smelt {

void Batch::clear() { used_ = 0, tokens = 0; }

std::byte* Batch::add(std::string_view name, DType dtype, std::vector<int64_t> shape) {
  if (used_ == tensors_.size()) tensors_.emplace_back();
  HostTensor& tensor = tensors_[used_++];
  tensor.name = name, tensor.dtype = dtype, tensor.shape = std::move(shape);
  tensor.bytes.resize(static_cast<size_t>(count_elements(tensor.shape) * size_of(dtype)));
  return tensor.bytes.data();
}

const HostTensor* Batch::find(std::string_view name) const {
  for (size_t i = 0; i < used_; ++i)
    if (tensors_[i].name == name) return &tensors_[i];
  return nullptr;
}

std::vector<InputTensor> Batch::inputs() const {
  std::vector<InputTensor> inputs;
  for (size_t i = 0; i < used_; ++i) {
    const HostTensor& t = tensors_[i];
    inputs.push_back({t.name, t.dtype, t.shape, t.bytes.data()});
  }
  return inputs;
}

std::vector<InputTensor> Batch::inputs_of(const PlanEntry& entry) const {
  std::vector<InputTensor> taken = inputs();
  std::erase_if(taken, [&](const InputTensor& input) {
    return std::ranges::find(entry.inputs, input.name, &Port::name) == entry.inputs.end();
  });
  return taken;
}

}  // namespace smelt
