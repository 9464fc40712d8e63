// Description of a model by a user: a Hugging Face directory, a spec as JSON, a graph in text form, or a
// directory with one of these (spec.json, model.ir) and weights.
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

  /// Builds a new module with its graphs, verified types and a description for the plan. A graph in text form
  /// has its own symbols and bounds, which `options.bounds` may replace; the other options do not apply to
  /// it.
  std::unique_ptr<Module> build(const BuildOptions& options) const;
  /// Returns the input of `build` as text: descriptions of equal content build equal modules.
  std::string content() const;
  /// Returns the safetensors file, or the index of its shards, of the model (next to its config.json,
  /// spec.json or model.ir); empty if training starts from scratch. Throws Error if there are weights in an
  /// unsupported format.
  std::optional<std::filesystem::path> weights() const;
};

/// Reads a description by its kind: a directory with a config.json, a spec.json or a model.ir; a file named
/// .json (a spec, or a config.json, which means its directory); a file named .ir or .smelt (text form). One
/// Error names all faults.
Description read_description(const std::filesystem::path& path);

}  // namespace smelt
