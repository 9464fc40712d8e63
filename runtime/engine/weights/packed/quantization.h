// Checkpoints of quantised models in safetensors files, as config.json's quantization_config describes them.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/weights/tensor_view.h"
#include "runtime/system/json_text.h"

namespace smelt {

/// Returns what of a quantization_config is not supported, in the form of "quant_method \"hqq\" is not
/// read; ...". Empty: nothing. `quantization`: the object.
std::vector<std::string> quantization_problems(const Json& quantization);

/// A model's tensors, and a message for the user.
struct UnpackedTensors {
  std::vector<TensorView> tensors;  // sorted by name
  std::string warning = {};         // what is computed in another way than the model says; empty: nothing
};

/// Replaces the stored parts of quantised weights by tensors that compute their floats. Tensors that are not
/// quantised stay. `config`: config.json. `file`: name of the checkpoint in messages. Throws Error
/// (invalid_file) naming the tensor if a part is missing or does not fit the others, and for everything that
/// quantization_problems() names.
UnpackedTensors unpack_quantized(std::vector<TensorView> stored, const Json& config, const std::string& file);

}  // namespace smelt
