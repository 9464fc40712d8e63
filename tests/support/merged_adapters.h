// What adapters make of the weights that they belong to, in plain loops.
#pragma once

#include "frontend/blocks/adapters.h"
#include "ir/evaluate/evaluator.h"

namespace smelt::testing {

/// W + scale B A in the place of each weight that has adapters, which are left out.
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
