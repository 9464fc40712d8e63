// Hugging Face model directory: config.json, weights as safetensors, generation_config.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "frontend/families/families.h"

namespace smelt {

struct ModelDirectory {
  std::filesystem::path path;
  TransformerSpec spec;
  Json config;      // config.json, unchanged
  Json generation;  // generation_config.json; an empty object where there is none
};

/// Reads the directory's JSON files. One Error names all that is missing, of a wrong type, or changes the
/// maths in a way that is not supported. Weights are not touched.
ModelDirectory read_model_directory(const std::filesystem::path& directory);

/// Reads config.json's object as a spec; `file` is for messages.
TransformerSpec spec_from_config(const Json& config, std::string_view file);
/// Writes a config.json that transformers reads, through the same table. Empty where the family has no table
/// or cannot express the spec.
std::optional<Json> config_from_spec(const TransformerSpec& spec);

/// The file for a safetensors reader: model.safetensors, or the index of its shards. Empty where the
/// directory holds no weights; throws Error where it holds them only in a format that is not supported.
std::optional<std::filesystem::path> find_weights(const std::filesystem::path& directory);

}  // namespace smelt
