#include "passes/training/apply_optimizer.h"

#include <charconv>
#include <map>

#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/training/flatten_parameters.h"
#include "runtime/error.h"

namespace smelt {
namespace {

constexpr std::string_view prefix = "grad.";

std::map<std::string, Value*, std::less<>> gradients_by_name(Graph& graph) {
  std::map<std::string, Value*, std::less<>> gradients;
  llvm::erase_if(graph.outputs, [&](const Graph::Output& output) {
    if (!output.name.starts_with(prefix)) return false;
    gradients[output.name.substr(prefix.size())] = output.value;
    return true;
  });
  return gradients;
}

}  // namespace

std::vector<Value*> take_gradients(Graph& graph, const State& flat) {
  const auto gradients = gradients_by_name(graph);
  std::vector<Value*> parts;
  for (const Segment& segment : flat.segments) {
    auto it = gradients.find(segment.name);
    if (it == gradients.end())
      fail(
          "apply_optimizer: graph @{} has no output \"grad.{}\"; run differentiate over all parameters first",
          graph.name, segment.name);
    parts.push_back(it->second);
  }
  return parts;
}

Value* take_flat_gradient(GraphBuilder& b, const State& flat) {
  const Type type = {DType::f32, flat.shape};
  return b.create(Op::pack, take_gradients(b.graph(), flat), {attr::state(flat.name)}, type)->result();
}

bool apply_optimizer(Graph& graph, const ApplyOptimizerOptions& options) {
  const PhaseMark mark(graph, Phase::update);
  GraphBuilder b(graph);
  b.set_source("optimizer");
  Value* gradient = take_flat_gradient(b, options.keep_gradients
                                              ? declare_flat_state(b.module(), "gradients", Role::gradient)
                                              : flat_parameters(b.module()));
  if (options.keep_gradients) b.update("gradients", gradient);
  Value* factor = options.scaling.on ? b.reciprocal(loss_scale(b, options.scaling)) : nullptr;
  b.output("gradient_norm", build_update(b, gradient, factor, options));
  return true;
}

namespace {

struct NumberOption {
  std::string_view key;
  double ApplyOptimizerOptions::* member;
};
constexpr NumberOption kNumbers[] = {
    {"learning_rate", &ApplyOptimizerOptions::learning_rate},
    {"weight_decay", &ApplyOptimizerOptions::weight_decay},
    {"clip_norm", &ApplyOptimizerOptions::clip_norm},
    {"beta1", &ApplyOptimizerOptions::beta1},
    {"beta2", &ApplyOptimizerOptions::beta2},
    {"eps", &ApplyOptimizerOptions::eps},
    {"momentum", &ApplyOptimizerOptions::momentum},
    {"dampening", &ApplyOptimizerOptions::dampening},
    {"learning_rate_decay", &ApplyOptimizerOptions::learning_rate_decay},
    {"initial_accumulator_value", &ApplyOptimizerOptions::initial_accumulator_value},
};

double number(std::string_view key, std::string_view text) {
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ptr != text.data() + text.size())
    fail("apply_optimizer: {} is '{}', expected a number", key, text);
  return value;
}

Optimizer optimizer_named(std::string_view text) {
  if (const auto optimizer = parse_optimizer(text)) return *optimizer;
  fail("apply_optimizer: optimizer is '{}', expected sgd, momentum, adagrad, adam, adamw or lamb", text);
}

bool one_of(std::string_view key, std::string_view value, std::string_view yes, std::string_view no) {
  if (value != yes && value != no)
    fail("apply_optimizer: {} is '{}', expected {} or {}", key, value, yes, no);
  return value == yes;
}

}  // namespace

void set_option(ApplyOptimizerOptions& options, std::string_view key, std::string_view value) {
  for (const NumberOption& row : kNumbers)
    if (row.key == key) return void(options.*row.member = number(key, value));
  if (key == "optimizer")
    options.optimizer = optimizer_named(value);
  else if (key == "decay")
    options.decay_all = one_of(key, value, "all", "declared");
  else if (key == "loss_scale")
    options.scaling.on = true, options.scaling.initial = number(key, value);
  else if (key == "loss_scale_growth")
    options.scaling.growth_interval = number(key, value);
  else if (key == "nesterov")
    options.nesterov = one_of(key, value, "true", "false");
  else
    fail("apply_optimizer has no option '{}'", key);
}

}  // namespace smelt
