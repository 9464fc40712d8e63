#include "frontend/merge_adapters.h"

#include <algorithm>

#include "frontend/blocks/adapters.h"
#include "frontend/weights.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace smelt {
namespace {

constexpr std::string_view kWeightEnd = ".weight";

const Module::Parameter* named(const Module& module, const std::string& name) {
  const auto found = llvm::find_if(module.parameters, [&](const auto& p) { return p.name == name; });
  return found == module.parameters.end() ? nullptr : &*found;
}

/// w[out,in] += scale b[out,r] a[r,in]
void add_product(std::vector<float>& w, const std::vector<float>& b, const std::vector<float>& a, size_t r,
                 double scale) {
  const size_t in = a.size() / r, out = b.size() / r;
  std::vector<double> row(in);
  for (size_t o = 0; o < out; ++o) {
    std::ranges::fill(row, 0.0);
    for (size_t k = 0; k < r; ++k)
      for (size_t i = 0; i < in; ++i) row[i] += static_cast<double>(b[o * r + k]) * a[k * in + i];
    for (size_t i = 0; i < in; ++i) w[o * in + i] = static_cast<float>(w[o * in + i] + scale * row[i]);
  }
}

std::vector<float> transposed(const std::vector<float>& values, size_t rows, size_t columns) {
  std::vector<float> result(values.size());
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) result[c * rows + r] = values[r * columns + c];
  return result;
}

/// The name in files of the model itself, not in those of adapters.
std::string own_name(const Module::Parameter& parameter) {
  for (const std::string& name : parameter.checkpoint_names)
    if (!llvm::StringRef(name).starts_with(kAdapterPrefix)) return name;
  return parameter.name;
}

HostTensor stored_in(const Module::Parameter& parameter, std::vector<float> values) {
  HostTensor tensor{own_name(parameter), DType::f32, checkpoint_shape(parameter), {}};
  if (parameter.transposed)
    values = transposed(values, static_cast<size_t>(tensor.shape[1]), static_cast<size_t>(tensor.shape[0]));
  const auto bytes = std::as_bytes(std::span(values));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return tensor;
}

}  // namespace

std::vector<HostTensor> merge_adapters(const Module& module, const LoraConfig& config,
                                       const Checkpoint& weights) {
  std::vector<HostTensor> tensors;
  for (const Module::Parameter& parameter : module.parameters) {
    if (is_adapter_parameter(parameter.name)) continue;
    std::vector<float> values = read_parameter(parameter, weights);
    llvm::StringRef name = parameter.name;
    const bool is_weight = name.consume_back(kWeightEnd);
    const Module::Parameter* a = is_weight ? named(module, name.str() + ".lora_A.weight") : nullptr;
    if (a) {
      const LoraTarget target = LoraTargets(config).of(name);
      const Module::Parameter* b = named(module, name.str() + ".lora_B.weight");
      add_product(values, read_parameter(*b, weights), read_parameter(*a, weights),
                  static_cast<size_t>(target.r), target.scale);
    }
    tensors.push_back(stored_in(parameter, std::move(values)));
  }
  return tensors;
}

}  // namespace smelt
