// The model argument of a command: a description that is compiled here, or a plan made before.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "compiler/cli/shared/adapters.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/run_directory.h"
#include "compiler/driver/compile.h"
#include "runtime/session/session.h"

namespace smelt::cli {

struct Model {
  std::filesystem::path path;
  std::optional<Description> description;  // of what was compiled
  std::optional<Compilation> compilation;  // its plan moved to `plan`
  std::shared_ptr<const Plan> plan;
  Json about;                      // describe_model's object; null for graphs in text form
  std::optional<Weights> weights;  // with the adapter's
  std::optional<Adapter> adapter;
  DefaultBounds bounds;  // of what was compiled

  /// Null for plans and for graphs in text form.
  const TransformerSpec* spec() const;
  /// Returns the number of token ids that the inputs input_ids and labels take, as the plan records it.
  int64_t vocabulary() const;
  /// Returns the tokens of the longest `labels` that the plan takes, over all ranks. Requires: a plan for
  /// training.
  int64_t longest_labels() const;
  bool reads_bytes() const;
};

struct WeightFlags {
  std::string weights;
  bool from_scratch = false;
  int threads = 0;
  uint32_t seed = 0;
  bool check_steps = false;
  AdapterFlags adapter;

  void add_to(CLI::App& app);
  SessionOptions session_options() const;
};

/// Reads a description, which is not compiled yet, or loads a plan.
Model open_model(const std::filesystem::path& path, const WeightFlags& weights);
/// Compiles the description of an open model, if it has one; prints the planned memory to stderr before any
/// of it is allocated.
void compile_model(Model& model, const CompileOptions& options, const CompileFlags& flags);
/// Opens and compiles a model, or loads a plan.
Model compile_or_load(const std::filesystem::path& path, const CompileOptions& options,
                      const WeightFlags& weights, const CompileFlags& flags);

/// A session without values yet. Where the machine's memory is too small, the Error names the options that
/// made the plan so large.
std::unique_ptr<Session> make_session(const Model& model, const SessionOptions& options);

/// Loads the weights that model.weights names. Throws Error for tensors that no parameter uses and that the
/// family does not list as buffers.
void load_weights(Session& session, const Model& model);
/// Returns a session with the model's weights, or with the initial values that --from-scratch asks for.
/// Throws Error where the model has parameters and there are neither.
std::unique_ptr<Session> open_session(const Model& model, const WeightFlags& flags);
/// The same with options other than those of the flags, such as a rank's.
std::unique_ptr<Session> open_session(const Model& model, const WeightFlags& flags,
                                      const SessionOptions& options);

/// Writes the description (config.json where the family is one of transformers', otherwise spec.json or
/// model.ir, nothing for a plan that was made from a graph), and the files of the model's tokenizer, with the
/// chat templates.
void save_description(const Model& model, const std::filesystem::path& directory);
/// Writes the description and the weights, with the number of updates before they were saved in the metadata.
/// If ranks have parts of weights, writes those of `checkpoint`, which was saved after the same number.
void save_model(const Session& session, const Model& model, const std::filesystem::path& directory,
                int64_t step, const std::filesystem::path& checkpoint);

/// Returns the entries that a generator runs: the entries with caches where the model has them, which need no
/// other entry; empty where any entry may be needed.
std::vector<std::string> generation_entries(const Model& model, const CompileOptions& options);

/// The entries with caches of a decoder, or of one that reads an encoder.
std::vector<std::string> cache_entries(bool reads_source, const CompileOptions& options);

/// "@loss, @logits"
std::string names_of_entries(const Plan& plan);

/// "planned memory 12.3 MiB: parameter 3.1 MiB, ..., arena 4.0 MiB"
std::string planned_memory_text(const Plan& plan);

}  // namespace smelt::cli
