// Model description that a user names by a path: a Hugging Face directory, a TransformerSpec as JSON, a graph
// in text form, a directory with a spec.json or a model.ir, and perhaps weights, or a GGUF file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "frontend/build_transformer.h"
#include "frontend/hugging_face.h"

namespace smelt {

/// A model description as it was read by read_description().
class Description {
 public:
  enum class Kind : uint8_t { directory, spec, graph };  // directory: also a GGUF file

  Kind kind;
  std::filesystem::path path;        // of the model's directory, or of the spec or graph file
  TransformerSpec spec;              // for Kind::directory and Kind::spec
  Json config;                       // the model's config.json; null: no config.json can express the model
  Json generation = Json::object();  // generation_config.json; empty: there is none
  std::string text;                  // for Kind::graph

  /// Builds a new module. A spec is built by build_transformer, and describe_model() writes
  /// Module::description. A graph in text form is parsed and verified; its text declares the symbols and
  /// their bounds. `options.bounds` may replace these bounds, and the other options are ignored. Throws
  /// Error.
  std::unique_ptr<Module> build(const BuildOptions& options) const;
  /// Returns all that build() reads of the description, as text: with equal options, descriptions of equal
  /// content build equal modules.
  std::string content() const;
  /// Returns the path of the GGUF file, or of the model's safetensors file or the index of its shards in the
  /// directory of the config.json, spec.json or model.ir. Returns nothing if there are no weights: training
  /// then starts from scratch. Throws Error if there are only weights in an unsupported format.
  std::optional<std::filesystem::path> weights() const;
};

/// Reads a description. `path` is a directory with a config.json, a spec.json or a model.ir; or a .json file
/// that has a spec or the fields of a config.json (a path to a file config.json is read as the path of its
/// directory, and next to a file spec.json, generation_config.json is read); or an .ir or .smelt file with a
/// graph in text form; or a GGUF file. Throws one Error that names all faults.
Description read_description(const std::filesystem::path& path);

}  // namespace smelt
