// Weights of a model whose adapters have become part of them: W + scale B A.
#pragma once

#include <vector>

#include "frontend/lora_config.h"
#include "ir/graph.h"
#include "runtime/tensor.h"
#include "runtime/weights/safetensors.h"

namespace smelt {

/// Every parameter of a module that was built with the config, as f32, under the name and in the layout that
/// files of the model's family have; `weights` hold the base and the adapters. Sums are made in double.
/// Throws Error where a tensor is missing or does not fit.
std::vector<HostTensor> merge_adapters(const Module& module, const LoraConfig& config,
                                       const Checkpoint& weights);

}  // namespace smelt
