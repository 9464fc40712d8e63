#include "compiler/cli/commands/golden.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

constexpr double kTorchSlack = 1.25;

void loosen(const Json& errors, const char* name, double& bound) {
  if (errors.is_object() && errors.contains(name) && errors[name].is_number())
    bound = std::max(bound, kTorchSlack * errors[name].get<double>());
}

/// The bounds depend on the mantissa of the operands of matmuls: in tf32 it is that of fp16.
struct BoundsRow {
  std::string_view precision, mantissa;
  GoldenBounds bounds;
};
constexpr BoundsRow kBounds[] = {
    {"fp32", "fp32", {1e-5, 1e-5, 1e-5, 1e-5, 1e-4}},
    {"bf16", "bf16", {2e-2, 1e-2, 1e-2, 4e-2, 1e-1}},
    {"fp16", "fp16", {5e-3, 2e-3, 2e-3, 1e-2, 4e-2}},
    {"tf32", "fp16", {5e-3, 2e-3, 2e-3, 1e-2, 4e-2}},
};

/// The largest error of logits from rounding weights to bytes (docs/guides/generation.md).
constexpr double kByteLogits = 4e-2;

GoldenBounds bounds_of(const Json& json, const std::string& precision) {
  const auto* found = std::ranges::find(kBounds, precision, &BoundsRow::precision);
  if (found == std::end(kBounds)) fail("there are no bounds of errors for --precision={}", precision);
  const BoundsRow& row = *found;
  GoldenBounds bounds = row.bounds;
  const Json* errors = json.contains("torch_error") ? &json["torch_error"] : nullptr;
  if (!errors || !errors->contains(row.mantissa)) return bounds;
  const Json& torch = (*errors)[row.mantissa];
  loosen(torch, "logits", bounds.logits);
  loosen(torch, "loss", bounds.loss);
  loosen(torch, "adamw", bounds.adamw);
  loosen(torch, "all_gradients", bounds.all_gradients);
  loosen(torch, "each_gradient", bounds.each_gradient);
  return bounds;
}

}  // namespace

Golden Golden::open(const std::filesystem::path& directory, const std::string& precision,
                    const std::string& weight_type) {
  Golden golden{
      Checkpoint::open(directory / "golden.safetensors"), read_json_file(directory / "golden.json"), {}};
  golden.bounds = bounds_of(golden.json, precision);
  if (weight_type == "int8") golden.bounds.logits += kByteLogits;
  return golden;
}

HostTensor Golden::tensor(const std::string& name) const {
  const TensorView& view = tensors.at(name);
  if (view.dtype != DType::i32 && view.dtype != DType::f32)
    fail("{}: '{}' is {}, expected I32 or F32", tensors.path().string(), name, smelt::describe(view));
  return {name, view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
}

std::map<std::string, HostTensor> Golden::inputs(std::string_view prefix) const {
  std::map<std::string, HostTensor> found;
  for (const TensorView& view : tensors.tensors())
    if (view.name.starts_with(prefix)) found.emplace(view.name.substr(prefix.size()), tensor(view.name));
  if (found.empty()) fail("{}: there are no tensors '{}*'", tensors.path().string(), prefix);
  return found;
}

std::vector<double> Golden::adamw_losses() const {
  return json.at("adamw").at("losses").get<std::vector<double>>();
}

double Golden::learning_rate() const { return json.at("adamw").at("lr").get<double>(); }

ApplyOptimizerOptions Golden::optimizer() const {
  const Json& adamw = json.at("adamw");
  ApplyOptimizerOptions options;
  options.optimizer = Optimizer::adamw;
  options.learning_rate = learning_rate();
  options.beta1 = adamw.at("betas").at(0).get<double>();
  options.beta2 = adamw.at("betas").at(1).get<double>();
  options.eps = adamw.at("eps").get<double>();
  options.weight_decay = adamw.at("weight_decay").get<double>();
  options.decay_all = adamw.value("decay", "") == "all parameters";
  return options;
}

std::vector<std::vector<int32_t>> Golden::greedy_ids() const {
  if (!json.contains("generate") || !json["generate"].contains("greedy")) return {};
  return json["generate"]["greedy"].at("ids").get<std::vector<std::vector<int32_t>>>();
}

}  // namespace smelt::cli
