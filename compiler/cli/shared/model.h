// The model argument of a command, which is a description that the command compiles, or a compiled plan.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "compiler/cli/shared/adapters.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/imported_model.h"
#include "compiler/cli/shared/run_directory.h"
#include "compiler/driver/compile.h"
#include "runtime/session/session.h"

namespace smelt::cli {

/// An open model: its description or its plan, and its weights.
struct Model {
  std::filesystem::path path;
  std::optional<Description> description;  // empty if `path` is a plan
  std::optional<Compilation> compilation;  // without the plan, which is in `plan`; empty if `path` is a plan
  std::shared_ptr<const Plan> plan;        // null until compile_model has compiled a description
  Json about;                              // the model's description as JSON; null for graphs in text form
  std::optional<Weights> weights;          // includes the adapter's tensors; empty: no weights were found
  std::filesystem::path named_weights;     // path of --weights; empty: the model's own
  std::optional<Adapter> adapter;
  /// In training: parameters of the head that the weights lack begin with initial values.
  bool begins_heads = false;
  DefaultBounds bounds;  // bounds of symbols that were not set by --max, but by other options

  /// Returns null for plans and for graphs in text form.
  const TransformerSpec* spec() const;
  /// Returns the number of token ids that the inputs input_ids and labels accept, as the plan records it.
  int64_t vocabulary() const;
  /// Returns the upper bound of the number of tokens per row of the input `labels`. If `labels` does not have
  /// two dims, returns the upper bound of T, the number of tokens per row of the other inputs. Requires: a
  /// plan for training.
  int64_t longest_labels() const;
  /// Returns whether the model's tokens are the bytes of a text.
  bool reads_bytes() const;
};

/// Options of a session: the weights that it loads, and how it runs.
struct WeightFlags {
  std::string weights;        // path; empty: the weights in the model's directory
  bool from_scratch = false;  // initial values instead of weights
  int threads = 0;            // 0: SMELT_NUM_THREADS, OMP_NUM_THREADS or all cores
  uint32_t seed = 0;          // seed of initial values and of random numbers
  std::string import_to;      // directory of the model as a graph, through PyTorch; empty: no import
  ImportedGraph imported_graph = ImportedGraph::outputs;
  bool check_steps = false;  // on a GPU: waits after every step, so that a fault names the step
  AdapterFlags adapter;

  void add_to(CLI::App& app);
  /// Adds all flags but --adapter.
  void add_weights_to(CLI::App& app);
  SessionOptions session_options() const;
};

/// Reads a description without compiling it, or loads a plan. Opens the weights, if there are any.
Model open_model(const std::filesystem::path& path, const WeightFlags& weights);
/// Sets CompileOptions::qat to int8, and qat_bounds, if the weights have bounds of activations, as those of
/// quantisation-aware training have; not where the user asked for Qat::none. Where Qat::automatic conflicts
/// with another option, changes nothing, and warns on stderr.
void follow_weights(CompileOptions& options, const Checkpoint& weights);
/// Does the same for the weights in the directory of a description, if there are any.
void follow_weights(CompileOptions& options, const Description& description);
/// Compiles the description of an open model. If the model is a plan, compiles nothing, and throws Error if
/// the user gave an option of the compiler. Prints the planned memory to stderr if flags.says_memory.
void compile_model(Model& model, const CompileOptions& options, const CompileFlags& flags);
/// Opens and compiles a model, or loads a plan.
Model compile_or_load(const std::filesystem::path& path, const CompileOptions& options,
                      const WeightFlags& weights, const CompileFlags& flags);

/// Returns a session whose states have no values yet. If memory is too small, throws Error (out_of_memory)
/// that names the options which determine the size of the plan.
std::unique_ptr<Session> make_session(const Model& model, const SessionOptions& options);

/// Loads model.weights, which must not be empty. Returns warnings that list the parameters which begin with
/// initial values, and the tensors that the model does not use, except those that its family lists as
/// ignored. Throws Error for unused tensors of an adapter or of a GGUF file.
std::vector<std::string> load_weights(Session& session, const Model& model);
/// Returns a session with the model's weights, or with initial values if flags.from_scratch. Throws Error if
/// the model has parameters and there are no weights and no --from-scratch.
std::unique_ptr<Session> open_session(const Model& model, const WeightFlags& flags);
/// Does the same with `options` instead of flags.session_options().
std::unique_ptr<Session> open_session(const Model& model, const WeightFlags& flags,
                                      const SessionOptions& options);

/// Writes the description, the files of the model's tokenizer, and its chat templates. The description is
/// config.json if the family is one of Hugging Face transformers', else spec.json or model.ir. No description
/// is written for a plan that was compiled from a graph.
void save_description(const Model& model, const std::filesystem::path& directory);
/// Writes the description and the weights. `step`: the number of updates so far, which becomes metadata of
/// the weights. If a rank has only a part of the weights, they are copied from `checkpoint`, which must have
/// been saved after the same number of updates.
void save_model(const Session& session, const Model& model, const std::filesystem::path& directory,
                int64_t step, const std::filesystem::path& checkpoint);

/// Returns the names of the entries that a generator needs. If the model supports KV caches, these are the
/// entries of cache_entries(). For other models, returns an empty list, which means all entries.
std::vector<std::string> generation_entries(const Model& model, const CompileOptions& options);

/// Returns the names of the entries for generation with KV caches. `reads_source`: the model has an encoder,
/// whose output the decoder reads.
std::vector<std::string> cache_entries(bool reads_source, const CompileOptions& options);

/// Returns a text such as "@loss, @logits".
std::string names_of_entries(const Plan& plan);

/// Returns a text such as "planned memory 12.3 MiB: parameter 3.1 MiB, ..., arena 4.0 MiB".
std::string planned_memory_text(const Plan& plan);

}  // namespace smelt::cli
