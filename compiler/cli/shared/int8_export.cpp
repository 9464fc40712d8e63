#include "compiler/cli/shared/int8_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "runtime/base/error.h"
#include "runtime/engine/weights/quantize.h"
#include "runtime/plan/activation_bound.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {
namespace {

constexpr float kSteps = 127;
constexpr std::string_view kWeight = ".weight";

/// The scales of activations by the names in files of the weights that multiply them.
using InputScales = std::map<std::string, float>;

/// Returns the names in files of the weights that a plan of inference stores as bytes.
std::vector<std::string> byte_weights(const Program& program) {
  std::vector<std::string> names;
  for (const State& state : program.states) {
    if (state.name != kQuantizedParameters) continue;
    for (const Segment& segment : state.segments) {
      if (segment.transposed || segment.shape.size() != 2)
        fail(
            "--weight-type=int8: '{}' is stored otherwise than [out,in], as compressed-tensors has it: "
            "export floats",
            segment.name);
      names.push_back(segment.checkpoint_names.empty() ? segment.name : segment.checkpoint_names.front());
    }
  }
  return names;
}

const Segment* bound_named(const Program& program, const std::string& name) {
  for (const State& state : program.states)
    for (const Segment& segment : state.segments)
      if (is_activation_bound(segment.name) && std::ranges::count(segment.checkpoint_names, name) > 0)
        return &segment;
  return nullptr;
}

float value_of(const Segment& bound, const Checkpoint& weights) {
  for (const std::string& name : bound.checkpoint_names)
    if (const TensorView* tensor = weights.find(name))
      return std::max(read_floats(*tensor).at(0), static_cast<float>(kLeastActivationBound));
  fail("'{}': the bound '{}' is missing", weights.path().string(), bound.name);
}

InputScales input_scales(const Model& model) {
  CompileOptions options;
  options.mode = Mode::infer;
  follow_weights(options, *model.weights->tensors);
  if (options.qat != Qat::int8)
    fail("--weight-type=int8: {} has no bounds of activations: train it with --qat int8",
         model.path.string());
  const Program program = compile(*model.description, options, Stage::program).program;
  InputScales scales;
  for (const std::string& weight : byte_weights(program))
    if (const Segment* bound = bound_named(program, activation_bound_of(weight)))
      scales[weight] = value_of(*bound, *model.weights->tensors) / kSteps;
  return scales;
}

template <typename T>
HostTensor tensor_of(std::string name, DType dtype, std::vector<int64_t> shape,
                     const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {std::move(name), dtype, std::move(shape), {bytes.begin(), bytes.end()}};
}

void add_bytes(std::vector<HostTensor>& to, const HostTensor& weight, float input_scale) {
  std::vector<int8_t> numbers(weight.as<float>().size());
  std::vector<float> scales(static_cast<size_t>(weight.shape[0]));
  quantize_rows(weight.as<float>(), numbers, scales);
  const std::string stem = weight.name.substr(0, weight.name.size() - kWeight.size());
  to.push_back(tensor_of(weight.name, DType::i8, weight.shape, numbers));
  to.push_back(tensor_of(weight.name + "_scale", DType::f32, {weight.shape[0], 1}, scales));
  to.push_back(tensor_of(stem + ".input_scale", DType::f32, {1}, std::vector<float>{input_scale}));
}

Json quantization_config(const Json& ignored) {
  const Json numbers = {{"num_bits", 8}, {"type", "int"}, {"symmetric", true}, {"dynamic", false}};
  Json weights = numbers, inputs = numbers;
  weights["strategy"] = "channel", inputs["strategy"] = "tensor";
  const Json group = {{"targets", {"Linear"}}, {"weights", weights}, {"input_activations", inputs}};
  return {{"quant_method", "compressed-tensors"},
          {"format", "int-quantized"},
          {"quantization_status", "compressed"},
          {"config_groups", {{"group_0", group}}},
          {"ignore", ignored}};
}

void describe_numbers(const std::filesystem::path& directory, const Json& ignored) {
  const std::filesystem::path file = directory / "config.json";
  Json config = parse_json(read_text_file(file), file.string());
  config["quantization_config"] = quantization_config(ignored);
  write_file(file, config.dump(2) + "\n");
}

void require_config(const Model& model) {
  if (!model.about.is_object() || !model.about["config"].is_object())
    fail(
        "--weight-type=int8: no config.json can express {}, and only such a file says how numbers are "
        "stored: "
        "leave it out; its runs are int8 without an export",
        model.path.string());
}

}  // namespace

void write_int8(const Model& model, std::vector<HostTensor> tensors, const std::filesystem::path& directory) {
  require_config(model);
  const InputScales scales = input_scales(model);
  save_description(model, directory);
  std::vector<HostTensor> stored;
  Json ignored = Json::array();
  for (HostTensor& tensor : tensors) {
    const auto scale = scales.find(tensor.name);
    if (scale != scales.end()) {
      add_bytes(stored, tensor, scale->second);
      continue;
    }
    if (tensor.name.ends_with(kWeight) && tensor.shape.size() == 2)
      ignored.push_back(tensor.name.substr(0, tensor.name.size() - kWeight.size()));
    stored.push_back(std::move(tensor));
  }
  describe_numbers(directory, ignored);
  std::vector<TensorView> views;
  for (const HostTensor& tensor : stored)
    views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  const std::filesystem::path file = directory / "model.safetensors";
  write_safetensors(file, views, {{"format", "pt"}});
  fmt::print("{}: {} tensors, of which {} weights are int8\n", file.string(), stored.size(), scales.size());
}

}  // namespace smelt::cli
