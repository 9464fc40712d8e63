// Low-rank adapters (LoRA) of a model on the command line: --lora makes a new adapter, and --adapter reads an
// adapter from a directory that PEFT or a run of `smelt train` has written.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/description.h"
#include "runtime/engine/adapters/lora_config.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/session/session.h"

namespace smelt::cli {

/// The flags that specify an adapter.
struct AdapterFlags {
  std::string lora, directory;       // values of --lora and --adapter; empty: not given
  std::vector<std::string> several;  // values of --adapter of a server, until sort_out()
  std::vector<std::pair<std::string, std::string>> named;  // name and directory of adapters for slots

  /// Adds --adapter.
  void add_to(CLI::App& app);
  /// Adds --adapter of a server, DIR or NAME=DIR, which may be given several times.
  void add_several_to(CLI::App& app);
  /// Divides the values of --adapter of a server into `directory` and `named`. Throws Error if there are
  /// several directories without a name, or some with and some without.
  void sort_out();
  /// Adds --lora, for training.
  void add_new(CLI::App& app);
};

/// An adapter: its configuration and its weights.
struct Adapter {
  LoraConfig config;
  std::shared_ptr<const Checkpoint> tensors;  // null: a new adapter, whose initial values `config` specifies
};

/// Returns the adapter that the flags specify; empty if they specify none. `description`: null for a plan.
/// Throws Error if there is an adapter and the model is a plan or a graph, because an adapter can be built
/// only into a model that is described by a config.json or a spec.
std::optional<Adapter> adapter_of(const AdapterFlags& flags, const Description* description);
/// Returns `weights`, the weights of the model, together with the adapter's tensors. Returns `weights` alone
/// if there is no adapter, or if the adapter is new.
std::shared_ptr<const Checkpoint> with_adapter(std::shared_ptr<const Checkpoint> weights,
                                               const std::optional<Adapter>& adapter);
/// Returns whether `name` is a tensor of the base model that the plan does not load, because the adapter has
/// a trained tensor in its place.
bool is_replaced(const Plan& plan, const std::string& name);
/// Writes the adapter as adapter_config.json and adapter_model.safetensors, which PEFT can read. The tensors
/// come from `checkpoint`, a checkpoint of a training run.
void save_adapter(const Adapter& adapter, const std::filesystem::path& checkpoint,
                  const std::filesystem::path& directory);

}  // namespace smelt::cli
