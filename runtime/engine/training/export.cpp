#include "runtime/engine/training/export.h"

#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/engine/training/checkpoint.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson description_of(const Plan& plan) {
  OrderedJson model;
  if (!plan.model.empty()) model = parse_ordered_json(plan.model, "the plan's model");
  if (model.is_object() && model.contains("config") && model["config"].is_object()) return model;
  fail(
      "the plan's model has no config.json to export: it was described by a graph, or by a spec that no "
      "family of "
      "transformers can express; its weights alone can be saved as safetensors");
}

/// Sets the type to float32, because transformers converts weights to the type of the config.
void say_float32(OrderedJson& config) {
  const bool old_dialect = config.contains("torch_dtype");
  if (old_dialect) config["torch_dtype"] = "float32";
  if (!old_dialect || config.contains("dtype")) config["dtype"] = "float32";
}

}  // namespace

void export_description(const Plan& plan, const std::filesystem::path& directory) {
  OrderedJson model = description_of(plan);
  OrderedJson& config = model["config"];
  say_float32(config);
  make_directories(directory);
  write_file(directory / "config.json", config.dump(2) + "\n");
  if (model.contains("generation") && model["generation"].is_object() && !model["generation"].empty())
    write_file(directory / "generation_config.json", model["generation"].dump(2) + "\n");
}

void export_model(const Session& session, const std::filesystem::path& directory) {
  export_description(session.plan(), directory);
  session.save_weights(directory / "model.safetensors");
}

void save_checkpoint_weights(const std::filesystem::path& checkpoint, const std::filesystem::path& file,
                             std::map<std::string, std::string> metadata) {
  const Checkpoint weights = checkpoint_weights(checkpoint);
  std::vector<TensorView> tensors = weights.tensors();
  std::vector<std::vector<float>> values;  // moved, never reallocated: the views stay valid
  for (TensorView& tensor : tensors) {
    values.push_back(read_floats(tensor));
    tensor.dtype = DType::f32;
    tensor.bytes = std::as_bytes(std::span(values.back()));
  }
  metadata.emplace("format", "pt");
  write_safetensors(file, tensors, metadata);
}

}  // namespace smelt
