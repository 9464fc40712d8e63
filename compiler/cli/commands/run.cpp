// smelt run: one run of one entry on tensors from files.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "compiler/cli/command.h"
#include "compiler/cli/shared/config_file.h"
#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/npy.h"
#include "compiler/cli/shared/text_table.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt::cli {
namespace {

struct RunCommand {
  std::string model, entry, inputs_file, output_file;
  std::vector<std::string> inputs, outputs;
  int64_t step = 0;
  CompileFlags flags;
  WeightFlags weights;
};

std::pair<std::string, std::string> name_and_file(const std::string& text, const char* option) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) fail("{} {}: expected NAME=FILE.npy", option, text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

HostTensor owned(const TensorView& view) {
  return {view.name, view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
}

std::vector<HostTensor> read_inputs(const RunCommand& options) {
  std::vector<HostTensor> tensors;
  if (!options.inputs_file.empty()) {
    const Checkpoint file = Checkpoint::open(options.inputs_file);
    for (const TensorView& view : file.tensors()) tensors.push_back(owned(view));
  }
  for (const std::string& text : options.inputs) {
    const auto [name, file] = name_and_file(text, "--input");
    tensors.push_back(read_npy(file));
    tensors.back().name = name;
  }
  return tensors;
}

template <typename To, typename From>
std::vector<std::byte> converted(const HostTensor& tensor) {
  std::vector<std::byte> bytes(tensor.bytes.size() / sizeof(From) * sizeof(To));
  auto* to = reinterpret_cast<To*>(bytes.data());
  for (const From value : tensor.as<From>()) {
    if constexpr (std::is_integral_v<To>)
      if (value < std::numeric_limits<To>::min() || value > std::numeric_limits<To>::max())
        fail("input '{}': {} does not fit into {} bits", tensor.name, value, 8 * sizeof(To));
    *to++ = static_cast<To>(value);
  }
  return bytes;
}

/// NumPy's default types become the plan's.
void fit(HostTensor& tensor, DType wanted) {
  if (tensor.dtype == wanted) return;
  if (wanted == DType::i32 && tensor.dtype == DType::i64)
    tensor.bytes = converted<int32_t, int64_t>(tensor);
  else if (wanted == DType::f32 && tensor.dtype == DType::f64)
    tensor.bytes = converted<float, double>(tensor);
  else
    return;  // the session says what was expected
  tensor.dtype = wanted;
}

std::string pick_entry(const Plan& plan, const std::string& asked) {
  if (!asked.empty()) return asked;
  if (plan.entries.size() == 1) return plan.entries[0].name;
  if (plan.find_entry("logits")) return "logits";
  std::vector<std::string> names;
  for (const PlanEntry& entry : plan.entries) names.push_back(entry.name);
  fail("the plan has several entries; choose one with --entry: {}", fmt::join(names, ", "));
}

void print_summary(const std::vector<HostTensor>& outputs) {
  TextTable table({"output", "type", "least", "mean", "most"});
  for (const HostTensor& tensor : outputs) {
    const std::string type = describe(tensor.dtype, tensor.shape);
    if (tensor.dtype != DType::f32 || tensor.bytes.empty()) {
      table.add({tensor.name, type, "-", "-", "-"});
      continue;
    }
    const auto values = tensor.as<float>();
    double sum = 0;
    for (const float value : values) sum += value;
    const auto [least, most] = std::ranges::minmax_element(values);
    table.add({tensor.name, type, fmt::format("{:.6g}", *least),
               fmt::format("{:.6g}", sum / static_cast<double>(values.size())),
               fmt::format("{:.6g}", *most)});
  }
  fmt::print("{}", table.text());
}

void write_outputs(const RunCommand& options, const std::vector<HostTensor>& outputs) {
  for (const std::string& text : options.outputs) {
    const auto [name, file] = name_and_file(text, "--save");
    const auto found = std::ranges::find(outputs, name, &HostTensor::name);
    if (found == outputs.end()) fail("--save {}: the entry has no output '{}'", text, name);
    write_npy(file, *found);
  }
  if (options.output_file.empty()) return;
  std::vector<TensorView> views;
  for (const HostTensor& t : outputs) views.push_back({t.name, t.dtype, t.shape, t.bytes});
  write_safetensors(options.output_file, views);
}

/// Outputs are the same at all ranks; the first one prints them.
void run_run(const RunCommand& options, const Json& all, InferenceRanks* ranks) {
  const bool is_first = !ranks || ranks->is_first();
  CompileOptions compiled = options.flags.options();
  if (ranks) ranks->add_to(compiled);
  CompileFlags flags = options.flags;
  flags.values.timing &= is_first, flags.says_memory &= is_first;
  const Model model = compile_or_load(options.model, compiled, options.weights, flags);
  SessionOptions session_options = options.weights.session_options();
  if (ranks) ranks->add_to(session_options, *model.plan), ranks->agree("the run", model, all);
  auto session = open_session(model, options.weights, session_options);
  const PlanEntry& entry = session->entry(pick_entry(*model.plan, options.entry));
  std::vector<HostTensor> tensors = read_inputs(options);
  std::vector<InputTensor> inputs;
  for (HostTensor& tensor : tensors) {
    const auto port = std::ranges::find(entry.inputs, tensor.name, &Port::name);
    if (port != entry.inputs.end()) fit(tensor, port->dtype);
    inputs.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes.data()});
  }
  session->set_random(options.weights.seed, options.step);
  const std::vector<HostTensor> outputs = session->run(entry.name, inputs);
  if (!is_first) return;
  print_summary(outputs);
  write_outputs(options, outputs);
}

}  // namespace

void add_run(CLI::App& app) {
  auto options = std::make_shared<RunCommand>();
  options->flags.values.mode = Mode::infer;
  CLI::App* command = app.add_subcommand("run", "Run one entry of a model or plan on tensors from files");
  command->add_option("model", options->model, "model directory, GGUF file, spec, graph or plan")->required();
  command->add_option("--entry", options->entry, "entry to run; default: the only one, or logits");
  command->add_option("--input", options->inputs, "NAME=FILE.npy, for each input");
  command->add_option("--inputs", options->inputs_file, "safetensors file with inputs by name");
  command->add_option("--save", options->outputs, "NAME=FILE.npy: write one output");
  command->add_option("-o,--output", options->output_file, "safetensors file for all outputs");
  command->add_option("--step", options->step, "step of the random numbers")->capture_default_str();
  using enum OptionGroup;
  options->flags.add_to(*command, {mode, inputs, caches, sampling, dropout, optimizer, ranks});
  options->weights.add_to(*command);
  command->callback([options, command] {
    infer_over_ranks(options->flags.values.mesh, "run",
                     [&](InferenceRanks* ranks) { run_run(*options, resolved_config(*command), ranks); });
  });
}

}  // namespace smelt::cli
