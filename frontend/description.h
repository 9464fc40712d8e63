// What a user gives to Smelt as "the model": a Hugging Face directory, a spec as JSON, a graph in text form,
// or a directory with one of these (spec.json, model.ir) and weights.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "frontend/build_transformer.h"
#include "frontend/hugging_face.h"

namespace smelt {

class Description {
 public:
  enum class Kind : uint8_t { directory, spec, graph };

  Kind kind;
  std::filesystem::path path;
  TransformerSpec spec;  // of directory and spec
  Json config;           // an object for config.json; null where there is none
  Json generation = Json::object();
  std::string text;  // of graph

  /// A new module with its graphs, verified types and a description for the plan. A graph in text form has
  /// symbols and bounds of its own, which `options.bounds` may replace; the other options do not apply to it.
  std::unique_ptr<Module> build(const BuildOptions& options) const;
  /// Everything that `build` makes a module from, as text: descriptions of equal content build equal modules.
  std::string content() const;
  /// The safetensors file, or the index of its shards, that belongs to the model (beside its config.json,
  /// spec.json or model.ir); empty where training starts from scratch. Throws Error where there are weights
  /// in a format that is not supported.
  std::optional<std::filesystem::path> weights() const;
};

/// Tells the kinds apart: a directory with a config.json, a spec.json or a model.ir; a file named .json (a
/// spec, or a config.json whose directory is meant); a file named .ir or .smelt (text form). One Error names
/// all that is wrong with it.
Description read_description(const std::filesystem::path& path);

}  // namespace smelt
