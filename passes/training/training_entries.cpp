#include "passes/training/training_entries.h"

#include <fmt/ranges.h>

#include "llvm/ADT/STLExtras.h"
#include "passes/autodiff/differentiate.h"
#include "passes/expressions.h"
#include "passes/simplify/decompose.h"
#include "passes/training/add_gradients.h"
#include "passes/training/apply_optimizer.h"
#include "passes/training/flatten_parameters.h"
#include "runtime/error.h"
#include "runtime/plan/segment_parts.h"

namespace smelt {
namespace {

constexpr const char* kCounts[] = {"loss_sum", "token_count"};

std::string outputs_of(const Graph& graph) {
  std::vector<std::string> texts;
  for (const Graph::Output& output : graph.outputs)
    texts.push_back(fmt::format("{}: {}", output.name, str(output.value->type)));
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

/// Everything that is wrong with the graph of the loss, in one Error.
void check_loss(const Module& module, const std::string& name) {
  const Graph* graph = module.find_graph(name);
  if (!graph)
    fail("training needs a graph @{}, which returns loss_sum and token_count, both f32[] (docs/models.md)",
         name);
  std::vector<std::string> problems;
  for (const char* count : kCounts) {
    const auto found =
        llvm::find_if(graph->outputs, [&](const Graph::Output& output) { return output.name == count; });
    if (found == graph->outputs.end())
      problems.push_back(fmt::format("there is no output {}", count));
    else if (found->value->rank() != 0 || found->value->dtype() != DType::f32)
      problems.push_back(fmt::format("{} is {}, expected f32[]", count, str(found->value->type)));
  }
  if (!problems.empty())
    fail(
        "graph @{}: {}; a graph to train on returns loss_sum, the loss summed over all targets, and "
        "token_count, "
        "the number of targets (docs/models.md); its outputs are {}",
        name, fmt::join(problems, "; "), outputs_of(*graph));
}

Graph& clone_of(Module& module, const std::string& from, const std::string& name) {
  const Graph* graph = module.find_graph(from);
  if (module.find_graph(name)) fail("graph @{} exists already", name);
  module.graphs.push_back(graph->clone_into(module, name));
  return *module.graphs.back();
}

Value* output_of(const Graph& graph, std::string_view name) {
  for (const Graph::Output& output : graph.outputs)
    if (output.name == name) return output.value;
  fail("graph @{} has no output \"{}\"", graph.name, name);
}

void drop_output(Graph& graph, std::string_view name) {
  llvm::erase_if(graph.outputs, [&](const Graph::Output& output) { return output.name == name; });
}

/// sum / max(count, 1)
Value* mean(GraphBuilder& b, Value* sum, Value* count) { return b.div(sum, b.max(count, b.scalar(1))); }

/// Of the loss times the loss scale, where there is one: all gradients have it as a factor.
void differentiate_scaled(Graph& graph, Value* loss, const TrainingOptions& options) {
  if (!options.optimizer.scaling.on) return void(differentiate(graph, {"loss", {}, 1}));
  GraphBuilder b(graph);
  b.set_source("loss");
  b.output("scaled_loss", b.mul(loss, loss_scale(b, options.optimizer.scaling)));
  differentiate(graph, {"scaled_loss", {}, 1});
  drop_output(graph, "scaled_loss");
}

void make_train_step(Module& module, const TrainingOptions& options) {
  Graph& graph = clone_of(module, options.loss, "train_step");
  GraphBuilder b(graph);
  b.set_source("loss");
  Value* loss = mean(b, output_of(graph, "loss_sum"), output_of(graph, "token_count"));
  graph.outputs.insert(graph.outputs.begin(), {"loss", loss});
  drop_output(graph, "loss_sum");
  differentiate_scaled(graph, loss, options);
  ApplyOptimizerOptions optimizer = options.optimizer;
  optimizer.keep_gradients &= !options.accumulation;  // then that state has sums
  apply_optimizer(graph, optimizer);
}

void add_to(GraphBuilder& b, std::string_view state, Value* addend) {
  b.update(state, b.add(b.state(state), addend));
}

/// The gradient of loss_sum. With a loss scale it is that of the scaled mean, which stays in the range of f16
/// where a sum over targets would not, and what it must be multiplied with is returned.
Value* differentiate_sum(Graph& graph, const TrainingOptions& options) {
  if (!options.optimizer.scaling.on) return differentiate(graph, {"loss_sum", {}, 1}), nullptr;
  GraphBuilder b(graph);
  b.set_source("loss");
  Value* count = output_of(graph, "token_count");
  Value* loss = mean(b, output_of(graph, "loss_sum"), count);
  differentiate_scaled(graph, loss, options);
  GraphBuilder end(graph);
  return end.div(end.max(count, end.scalar(1)), loss_scale(end, options.optimizer.scaling));
}

void make_accumulate(Module& module, const TrainingOptions& options) {
  Graph& graph = clone_of(module, options.loss, "accumulate");
  Value* weight = differentiate_sum(graph, options);
  const PhaseMark mark(graph, Phase::update);
  GraphBuilder b(graph);
  b.set_source("accumulate");
  State& sums = declare_flat_state(b.module(), "gradients", Role::gradient);
  // Of gradients that ranks share the graph has the whole, and the sums a rank's part.
  const bool has_parts = llvm::any_of(sums.segments, [](const Segment& s) { return is_cut(s); });
  if (weight || options.flat_sums || has_parts) {
    Value* gradient = take_flat_gradient(b, sums);
    if (weight) gradient = b.mul(gradient, everywhere(b, weight, gradient->shape()));
    add_to(b, sums.name, gradient);
  } else {
    add_gradients(b, sums, take_gradients(graph, sums));
  }
  for (const char* name : kCounts) {
    declare_scalar_state(module, name).role = Role::gradient;
    add_to(b, name, output_of(graph, name));
  }
}

void make_apply(Module& module, const TrainingOptions& options) {
  Graph& graph = module.add_graph("apply");
  const PhaseMark mark(graph, Phase::update);
  GraphBuilder b(graph);
  b.set_source("optimizer");
  Value* count = b.state("token_count");
  Value* factor = b.reciprocal(b.max(count, b.scalar(1)));
  b.output("loss", mean(b, b.state("loss_sum"), count));
  b.output("token_count", count);
  Value* sums = b.state("gradients");
  b.output("gradient_norm", build_update(b, sums, factor, options.optimizer));
  b.update("gradients", zeros(b, sums->type));
  for (const char* name : kCounts) b.update(name, b.scalar(0));
}

}  // namespace

bool make_training_entries(Module& module, const TrainingOptions& options) {
  check_loss(module, options.loss);
  if (llvm::all_of(module.parameters, [](const auto& parameter) { return parameter.frozen; }))
    fail("there is nothing to train: all parameters are frozen");
  flatten_parameters(module);
  make_train_step(module, options);
  if (!options.accumulation) return true;
  make_accumulate(module, options);
  make_apply(module, options);
  return true;
}

void set_option(TrainingOptions& options, std::string_view key, std::string_view value) {
  if (key == "loss") {
    options.loss = value;
  } else if (key == "accumulation") {
    if (value != "true" && value != "false")
      fail("make_training_entries: accumulation is '{}', expected true or false", value);
    options.accumulation = value == "true";
  } else if (key == "flat_sums") {
    if (value != "true" && value != "false")
      fail("make_training_entries: flat_sums is '{}', expected true or false", value);
    options.flat_sums = value == "true";
  } else {
    set_option(options.optimizer, key, value);
  }
}

}  // namespace smelt
