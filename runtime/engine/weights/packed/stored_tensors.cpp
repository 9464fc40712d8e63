#include "runtime/engine/weights/packed/stored_tensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "runtime/engine/weights/safetensors_types.h"

namespace smelt {

StoredTensors::StoredTensors(std::vector<TensorView> tensors, std::string file) : file_(std::move(file)) {
  for (TensorView& tensor : tensors) put(std::move(tensor));
}

std::vector<std::string> StoredTensors::stems(std::string_view suffix) const {
  std::vector<std::string> stems;
  for (const auto& [name, tensor] : tensors_)
    if (name.ends_with(suffix)) stems.push_back(name.substr(0, name.size() - suffix.size()));
  return stems;
}

const TensorView* StoredTensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::optional<TensorView> StoredTensors::take_if(const std::string& name) {
  auto node = tensors_.extract(name);
  return node ? std::optional(std::move(node.mapped())) : std::nullopt;
}

TensorView StoredTensors::take(const std::string& name, std::initializer_list<DType> dtypes) {
  std::vector<std::string_view> names;
  for (const DType dtype : dtypes) names.push_back(safetensors_name(dtype));
  std::optional<TensorView> tensor = take_if(name);
  if (!tensor) refuse(name, "missing: expected {} beside the quantised weight", fmt::join(names, " or "));
  const bool fits = !tensor->source && std::ranges::find(dtypes, tensor->dtype) != dtypes.end();
  if (!fits) refuse(name, "{}, expected {}", describe(*tensor), fmt::join(names, " or "));
  if (tensor->elements() == 0) refuse(name, "{}, expected at least one element", describe(*tensor));
  return std::move(*tensor);
}

TensorView StoredTensors::take(const std::string& name, std::initializer_list<DType> dtypes,
                               std::vector<int64_t> shape) {
  TensorView tensor = take(name, dtypes);
  if (tensor.shape != shape) refuse(name, "{}, expected [{}]", describe(tensor), fmt::join(shape, ","));
  return tensor;
}

void StoredTensors::put(TensorView tensor) {
  std::string name = tensor.name;
  if (!tensors_.emplace(name, std::move(tensor)).second) refuse(name, "given twice, packed and as floats");
}

std::vector<TensorView> StoredTensors::all() && {
  std::vector<TensorView> tensors;
  for (auto& [name, tensor] : tensors_) tensors.push_back(std::move(tensor));
  return tensors;
}

std::vector<int64_t> read_stored_integers(const TensorView& tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    int32_t narrow;
    if (tensor.dtype == DType::i64) {
      std::memcpy(&values[i], tensor.bytes.data() + i * sizeof(int64_t), sizeof(int64_t));
      continue;
    }
    std::memcpy(&narrow, tensor.bytes.data() + i * sizeof narrow, sizeof narrow);
    values[i] = narrow;
  }
  return values;
}

}  // namespace smelt
