// Adapters of a model on the command line: --lora makes new ones, --adapter reads those of a directory that
// PEFT or a run of `smelt train` has written.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "frontend/description.h"
#include "frontend/lora_config.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/session/session.h"

namespace smelt::cli {

struct AdapterFlags {
  std::string lora, directory;

  /// Adds --adapter.
  void add_to(CLI::App& app);
  /// Adds --lora, for training.
  void add_new(CLI::App& app);
};

struct Adapter {
  LoraConfig config;
  std::shared_ptr<const Checkpoint> tensors;  // null: they begin as the config says
};

/// Returns the adapter that the flags ask for; nothing where they ask for none. Throws Error where the model
/// is not described by a config or a spec, because only their linear maps have names.
std::optional<Adapter> adapter_of(const AdapterFlags& flags, const Description* description);
/// A model's own weights with the adapter's, where that has any.
std::shared_ptr<const Checkpoint> with_adapter(std::shared_ptr<const Checkpoint> weights,
                                               const std::optional<Adapter>& adapter);
/// Returns whether a name in a file is the name of a model's tensor that an adapter's tensor replaces.
bool is_replaced(const Plan& plan, const std::string& name);
/// Loads weights of a model; matrices of new adapters keep their first values. Returns the names without use.
std::vector<std::string> load_with_adapter(Session& session, const Checkpoint& weights,
                                           const std::optional<Adapter>& adapter);

/// Writes adapter_config.json and adapter_model.safetensors, as PEFT reads them, of what a checkpoint holds.
void save_adapter(const Adapter& adapter, const std::filesystem::path& checkpoint,
                  const std::filesystem::path& directory);

}  // namespace smelt::cli
