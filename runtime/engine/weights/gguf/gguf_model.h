// A GGUF file as a model in Hugging Face's form: config.json, and tensors with the names and the order of
// rows of transformers.
#pragma once

#include "runtime/engine/weights/gguf/gguf_file.h"

namespace smelt {

/// Returns the object of the config.json that describes the model. Throws Error (invalid_file) naming the
/// file if it has no model of an architecture that is read, or metadata that change the model's computation
/// in a way that is not known.
Json gguf_config(const GgufContents& file, std::string_view file_name);

/// Returns the tensors of the model. Tensors that no table names keep their names.
std::vector<TensorView> gguf_model_tensors(const GgufContents& file, std::string_view file_name);

}  // namespace smelt
