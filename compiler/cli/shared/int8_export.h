// Export of a model of quantisation-aware training in the layout of compressed-tensors.
#pragma once

#include <filesystem>
#include <vector>

#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// Writes the model's description and the tensors to `directory`, and adds to config.json a
/// quantization_config of the method compressed-tensors, format int-quantized. A weight NAME.weight [out,in]
/// that is multiplied as bytes becomes NAME.weight I8, NAME.weight_scale F32 [out,1] and NAME.input_scale F32
/// [1]; all other tensors are F32 as given. The weight is its bytes times the row's scale, and an activation
/// is rounded to the nearest multiple of its scale, up to 127 of them. Throws Error if the model has no
/// bounds of activations, no config.json, or a weight [in,out].
void write_int8(const Model& model, std::vector<HostTensor> tensors, const std::filesystem::path& directory);

}  // namespace smelt::cli
