// Merges adapters into the weights of a model: W + scale B A.
#pragma once

#include <vector>

#include "frontend/lora_config.h"
#include "ir/graph/graph.h"
#include "runtime/base/tensor.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt {

/// Returns every parameter of a module that was built with the config, as f32, with the name and layout of
/// files of the model's family; `weights` holds the base and the adapters. Sums are in double. Throws Error
/// if a tensor is missing or does not fit.
std::vector<HostTensor> merge_adapters(const Module& module, const LoraConfig& config,
                                       const Checkpoint& weights);

}  // namespace smelt
