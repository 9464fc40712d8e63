// Reader of a Hugging Face model directory: config.json, generation_config.json, and the location of its
// safetensors weights. Also converts between config.json and TransformerSpec.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "frontend/families/families.h"

namespace smelt {

/// Contents of a model directory, except its weights.
struct ModelDirectory {
  std::filesystem::path path;
  TransformerSpec spec;
  Json config;      // config.json without its quantization_config
  Json generation;  // generation_config.json; an empty object: there is none
};

/// Reads the directory's JSON files, but no weights. Throws Error if the directory or config.json cannot be
/// read. Throws one Error that names all fields of config.json that are missing, have a wrong type, or change
/// the model's computation in a way that is not supported.
ModelDirectory read_model_directory(const std::filesystem::path& directory);

/// Returns the object of generation_config.json in the directory; an empty one if there is no such file.
/// Throws Error if it cannot be read.
Json read_generation_file(const std::filesystem::path& directory);

/// Converts the object of a config.json to a spec. Throws one Error that names all faults of fields, as
/// read_model_directory() does. `file` is the name of the config in messages.
TransformerSpec spec_from_config(const Json& config, std::string_view file);
/// Converts the spec to the object of a config.json that transformers can read. Returns nothing if the spec's
/// model family has no table of config fields (families/families.h), or if its fields cannot express the
/// spec.
std::optional<Json> config_from_spec(const TransformerSpec& spec);

/// Returns the path of model.safetensors, or of the index of its shards. Returns nothing if the directory has
/// no weights. Throws Error if it has weights only in an unsupported format.
std::optional<std::filesystem::path> find_weights(const std::filesystem::path& directory);

}  // namespace smelt
