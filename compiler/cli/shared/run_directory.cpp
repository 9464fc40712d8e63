#include "compiler/cli/shared/run_directory.h"

#include <fmt/format.h>

#include <limits>
#include <ranges>

#include "frontend/hugging_face.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/checkpoint.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

bool is_run_directory(const fs::path& path) {
  return fs::exists(path / "train.json") && fs::is_directory(path / "model");
}

Weights opened(const fs::path& path) {
  auto tensors = std::make_shared<const Checkpoint>(open_weights(path));
  std::string note = tensors->warning().empty() ? "" : fmt::format("warning: {}", tensors->warning());
  return {std::move(tensors), std::move(note)};
}

/// Returns the number of updates before weights were saved; weights without that number are not from a run
/// that continued.
int64_t step_of(const Checkpoint& weights) {
  int64_t step = std::numeric_limits<int64_t>::max();
  const auto found = weights.metadata().find("step");
  if (found != weights.metadata().end()) llvm::StringRef(found->second).getAsInteger(10, step);
  return step;
}

/// `saved` are the weights that the run has saved with its description.
std::optional<Weights> newest_of(const fs::path& run, std::optional<Weights> saved) {
  const int64_t reached = saved ? step_of(*saved->tensors) : -1;
  std::string damaged;
  const auto checkpoints = list_checkpoints(run / "checkpoints");
  for (const fs::path& path : checkpoints | std::views::reverse) {
    if (checkpoint_step(path) <= reached) break;
    try {
      return Weights{std::make_shared<const Checkpoint>(checkpoint_weights(path)),
                     fmt::format("{}weights of the run's newest checkpoint, {}", damaged, path.string())};
    } catch (const Error& error) {
      if (error.status() != Status::invalid_file) throw;
      damaged += fmt::format("{}\n", error.what());
    }
  }
  return saved;
}

/// Returns the path without dots and a slash at the end.
fs::path tidy(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

/// Returns the run that a model directory is a part of.
std::optional<fs::path> run_of(const fs::path& model) {
  fs::path path = tidy(model.empty() ? "." : model);
  if (path.filename() != "model") path = tidy(fs::absolute(path));
  const bool saved = path.filename() == "model" && is_run_directory(path.parent_path());
  return saved ? std::optional(path.parent_path()) : std::nullopt;
}

/// A run of --lora has no model of its own.
void refuse_adapter_run(const fs::path& path) {
  if (!fs::exists(path / "train.json")) return;
  const Json options = read_json_file(path / "train.json");
  if (options.contains("lora") || options.contains("adapter"))
    fail("{}: a run that trained an adapter; expected the model that it was trained on, with --adapter {}",
         path.string(), path.string());
}

}  // namespace

fs::path model_path(const fs::path& path) {
  if (!is_run_directory(path)) refuse_adapter_run(path);
  return is_run_directory(path) && fs::is_directory(path / "model") ? path / "model" : path;
}

Weights weights_at(const fs::path& path) {
  if (const auto checkpoints = list_checkpoints(path); !checkpoints.empty())
    return opened(checkpoints.back());
  if (!is_run_directory(path)) return opened(path);
  std::optional<Weights> saved;
  if (const auto file = find_weights(path / "model")) saved = opened(*file);
  if (auto found = newest_of(path, std::move(saved))) return std::move(*found);
  fail("{}: the run has neither saved a model nor written a checkpoint yet", path.string());
}

std::optional<Weights> weights_of(const Description& description) {
  std::optional<Weights> saved;
  if (const auto file = description.weights()) saved = opened(*file);
  const bool directory = fs::is_directory(description.path);
  const auto run = run_of(directory ? description.path : description.path.parent_path());
  return run ? newest_of(*run, std::move(saved)) : std::move(saved);
}

}  // namespace smelt::cli
