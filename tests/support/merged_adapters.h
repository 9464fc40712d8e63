// Reference for merging LoRA adapters into weights, in plain loops.
#pragma once

#include "frontend/blocks/adapters.h"
#include "ir/evaluate/evaluator.h"

namespace smelt::testing {

/// Returns the states without adapters, and with W + scale * B A in place of each weight W [out,in] that has
/// adapters A [r,in] and B [out,r]. Names are those of Hugging Face's PEFT: MODULE.weight,
/// MODULE.lora_A.weight and MODULE.lora_B.weight.
inline Tensors merged_states(const Tensors& states, double scale) {
  Tensors result;
  for (const auto& [name, tensor] : states) {
    if (is_adapter_parameter(name)) continue;
    Tensor weight = tensor;
    const std::string module = name.substr(0, name.size() - std::string_view(".weight").size());
    const auto a = states.find(module + ".lora_A.weight"), b = states.find(module + ".lora_B.weight");
    if (a != states.end()) {
      const auto out = static_cast<size_t>(weight.shape[0]), in = static_cast<size_t>(weight.shape[1]),
                 r = static_cast<size_t>(a->second.shape[0]);
      for (size_t o = 0; o < out; ++o)
        for (size_t i = 0; i < in; ++i)
          for (size_t k = 0; k < r; ++k)
            weight.data[o * in + i] += scale * b->second.data[o * r + k] * a->second.data[k * in + i];
    }
    result[name] = std::move(weight);
  }
  return result;
}

}  // namespace smelt::testing
