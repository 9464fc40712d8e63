// smelt export: a model's weights and description as a directory that transformers loads, with adapters
// merged into their base weights.
#include <fmt/format.h>

#include <cstdio>

#include "compiler/cli/command.h"
#include "compiler/cli/shared/int8_export.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/output_path.h"
#include "compiler/cli/shared/run_directory.h"
#include "frontend/merge_adapters.h"
#include "frontend/weights.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_model.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

struct ExportCommand {
  std::string model, output;
  WeightFlags weights;
  bool merge = false;
  std::string weight_type = "float";
};

/// The model with its weights and, where it has one, the adapter; without a plan.
Model opened_for_export(const ExportCommand& options) {
  Model model = open_model(options.model, options.weights);
  if (!model.description || model.description->kind == Description::Kind::graph)
    fail("{}: expected a model directory or a spec: its linear maps have names", options.model);
  if (!model.weights) fail("{}: there are no weights beside it; name them with --weights", options.model);
  if (options.merge && !model.adapter) fail("--merge-adapters needs --adapter, a directory with one");
  if (model.adapter && !options.merge)
    fail("--adapter: say --merge-adapters, since an adapter of its own is a directory already");
  return model;
}

void run_export(const ExportCommand& options) {
  const AdapterFlags& adapter = options.weights.adapter;
  require_other_output(options.output, {options.model, model_path(options.model).string(),
                                        options.weights.weights, adapter.directory});
  Model model = opened_for_export(options);
  BuildOptions build{.training = false};
  if (model.adapter) build.lora = model.adapter->config;
  const std::unique_ptr<Module> module = model.description->build(build);
  const Checkpoint& weights = *model.weights->tensors;
  const std::vector<std::string> unused = check_weights(*module, weights);
  if (!unused.empty())
    fmt::print(stderr, "warning: {} tensors that the model has no use for are left out: {}\n", unused.size(),
               fmt::join(unused, ", "));
  const LoraConfig config = model.adapter ? model.adapter->config : LoraConfig{};
  std::vector<HostTensor> tensors = merge_adapters(*module, config, weights);

  Plan described;
  described.model = module->description;
  model.plan = std::make_shared<const Plan>(std::move(described));
  model.about = read_plan_model(model.plan->model);
  if (options.weight_type == "int8") return write_int8(model, std::move(tensors), options.output);
  save_description(model, options.output);
  std::vector<TensorView> views;
  for (const HostTensor& tensor : tensors)
    views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  const std::filesystem::path file = std::filesystem::path(options.output) / "model.safetensors";
  write_safetensors(file, views, {{"format", "pt"}});
  fmt::print("{}: {} tensors{}\n", file.string(), tensors.size(),
             model.adapter ? ", with the adapter merged" : "");
}

}  // namespace

void add_export(CLI::App& app) {
  auto options = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand("export", "Write a model's weights, with adapters merged into them");
  command->add_option("model", options->model, "model directory, GGUF file, run directory or spec")
      ->required();
  command->add_option("-o,--output", options->output, "directory to write")->required();
  command->add_option("--weights", options->weights.weights,
                      "safetensors file, index or directory instead of the model's own");
  options->weights.adapter.add_to(*command);
  command
      ->add_option(
          "--weight-type", options->weight_type,
          "float, or int8: weights that --qat int8 trained as bytes, with the scales of weights and of "
          "activations (compressed-tensors)")
      ->check(CLI::IsMember({"float", "int8"}))
      ->capture_default_str();
  command->add_flag("--merge-adapters", options->merge, "add each adapter's product to its weight");
  on_call(command, options, run_export);
}

}  // namespace smelt::cli
