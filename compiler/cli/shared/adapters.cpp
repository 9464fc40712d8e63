#include "compiler/cli/shared/adapters.h"

#include <algorithm>

#include "frontend/blocks/adapters.h"
#include "frontend/lora_option.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/export.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char *kConfigFile = "adapter_config.json", *kTensorsFile = "adapter_model.safetensors";

/// The directory itself, or that of a run.
fs::path adapter_directory(const fs::path& path) {
  const bool is_run = !fs::exists(path / kConfigFile) && fs::exists(path / "adapter" / kConfigFile);
  return is_run ? path / "adapter" : path;
}

Adapter read_adapter(const fs::path& path) {
  const fs::path directory = adapter_directory(path);
  Adapter adapter{read_lora(directory), nullptr};
  const fs::path file = directory / kTensorsFile;
  if (!fs::exists(file))
    fail_with(Status::io, "{}: there is no {}, as PEFT writes it", directory.string(), kTensorsFile);
  adapter.tensors = std::make_shared<const Checkpoint>(Checkpoint::open(file));
  return adapter;
}

bool belongs_to_adapter(const Segment& segment) {
  return !segment.checkpoint_names.empty() && segment.checkpoint_names.front().starts_with(kAdapterPrefix);
}

}  // namespace

void AdapterFlags::add_to(CLI::App& app) {
  app.add_option(
      "--adapter", directory,
      "directory with adapter_config.json and adapter_model.safetensors, or a run that trained one "
      "(docs/guides/lora.md)");
}

void AdapterFlags::add_several_to(CLI::App& app) {
  app.add_option(
         "--adapter", several,
         "NAME=DIR: an adapter in a slot (--adapters), which requests choose by its name; may be given "
         "several times; or DIR: the one adapter of all requests (docs/guides/lora.md)")
      ->allow_extra_args(false)
      ->type_name("[NAME=]DIR");
}

/// A value that is the path of a directory has no name.
void AdapterFlags::sort_out() {
  for (const std::string& value : several) {
    const size_t end = value.find('=');
    if (end == std::string::npos || fs::exists(value)) {
      if (several.size() > 1)
        fail("--adapter {}: expected NAME=DIR, since there are several adapters", value);
      directory = value;
    } else {
      named.emplace_back(value.substr(0, end), value.substr(end + 1));
    }
  }
}

void AdapterFlags::add_new(CLI::App& app) {
  app.add_option(
      "--lora", lora,
      "train low-rank adapters alone, such as r=16,alpha=32,targets=q_proj+v_proj (docs/guides/lora.md)");
}

std::optional<Adapter> adapter_of(const AdapterFlags& flags, const Description* description) {
  if (flags.lora.empty() && flags.directory.empty()) return std::nullopt;
  const char* option = flags.lora.empty() ? "--adapter" : "--lora";
  if (!flags.lora.empty() && !flags.directory.empty())
    fail("--lora makes new adapters, --adapter goes on with those of a directory: give one of them");
  if (!description || description->kind == Description::Kind::graph)
    fail("{}: adapters are built into a model from its config.json or spec: a {} has no room for them",
         option, description ? "graph" : "plan");
  if (!flags.directory.empty()) return read_adapter(flags.directory);
  Adapter adapter{with_defaults(parse_lora(flags.lora), description->spec), nullptr};
  adapter.config.base_model = description->path.string();
  return adapter;
}

std::shared_ptr<const Checkpoint> with_adapter(std::shared_ptr<const Checkpoint> weights,
                                               const std::optional<Adapter>& adapter) {
  if (!adapter || !adapter->tensors) return weights;
  return std::make_shared<const Checkpoint>(Checkpoint::joined({std::move(weights), adapter->tensors}));
}

bool is_replaced(const Plan& plan, const std::string& name) {
  return std::ranges::any_of(plan.states, [&](const State& state) {
    return std::ranges::any_of(state.segments, [&](const Segment& segment) {
      return belongs_to_adapter(segment) && std::ranges::count(segment.checkpoint_names, name) > 0;
    });
  });
}

void save_adapter(const Adapter& adapter, const fs::path& checkpoint, const fs::path& directory) {
  make_directories(directory);
  save_checkpoint_weights(checkpoint, directory / kTensorsFile);
  write_file(directory / kConfigFile, lora_json(adapter.config).dump(2) + "\n");
}

}  // namespace smelt::cli
