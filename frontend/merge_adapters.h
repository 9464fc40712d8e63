// Merging of low-rank adapters (lora_config.h) into the weights of a model: W becomes W + scale B A, where A
// and B are the two matrices of an adapter.
#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "runtime/base/tensor.h"
#include "runtime/engine/adapters/lora_config.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt {

/// Returns every parameter of the base model, with the adapters added, as f32 tensors with the names and
/// shapes of checkpoints of the model's family. `module` was built with `config`, and `weights` has the
/// tensors of the base model and of the adapters. Products and sums are computed in double. Throws Error if a
/// tensor is missing or does not fit.
std::vector<HostTensor> merge_adapters(const Module& module, const LoraConfig& config,
                                       const Checkpoint& weights);

}  // namespace smelt
