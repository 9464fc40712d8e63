#include "passes/graph/training/training_entries.h"

#include <fmt/ranges.h>

#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/autodiff/differentiate.h"
#include "passes/graph/precision/quantize_matmuls.h"
#include "passes/graph/simplify/decompose.h"
#include "passes/graph/training/apply_optimizer.h"
#include "passes/graph/training/averaged_parameters.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/gradient_sums.h"
#include "passes/graph/training/hidden_matrices.h"
#include "passes/parameter_patterns.h"
#include "runtime/base/error.h"

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
    fail(
        "training needs a graph @{}, which returns loss_sum and token_count, both f32[] "
        "(docs/guides/models.md)",
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
        "the number of targets (docs/guides/models.md); its outputs are {}",
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

/// Differentiates the loss times the loss scale, if there is one: all gradients have it as a factor.
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
  Value* loss = mean_loss(b, output_of(graph, "loss_sum"), output_of(graph, "token_count"));
  graph.outputs.insert(graph.outputs.begin(), {"loss", loss});
  drop_output(graph, "loss_sum");
  differentiate_scaled(graph, loss, options);
  ApplyOptimizerOptions optimizer = options.optimizer;
  optimizer.keep_gradients &= !options.accumulation;  // then that state has sums
  apply_optimizer(graph, optimizer);
}

/// Names the matrices that the optimizer orthogonalizes, if it does.
void find_matrices(const Module& module, TrainingOptions& options) {
  ApplyOptimizerOptions& o = options.optimizer;
  if (!orthogonalizes(o.optimizer)) return;
  const std::vector<bool> excluded = parameters_that_fit(module, o.adamw_for);
  for (const std::string& name : hidden_matrices(*module.find_graph(options.loss))) {
    const auto found = llvm::find_if(module.parameters, [&](const auto& p) { return p.name == name; });
    if (!excluded[static_cast<size_t>(found - module.parameters.begin())]) o.matrices.push_back(name);
  }
}

/// The gradient of loss_sum. With a loss scale it is that of the scaled mean, which stays in the range of f16
/// where a sum over targets would not.
void differentiate_sum(Graph& graph, const TrainingOptions& options) {
  if (!options.optimizer.scaling.on) return void(differentiate(graph, {"loss_sum", {}, 1}));
  GraphBuilder b(graph);
  b.set_source("loss");
  differentiate_scaled(graph, mean_loss(b, output_of(graph, "loss_sum"), output_of(graph, "token_count")),
                       options);
}

void make_accumulate(Module& module, const TrainingOptions& options) {
  Graph& graph = clone_of(module, options.loss, "accumulate");
  differentiate_sum(graph, options);
  add_sums(graph, {output_of(graph, "loss_sum"), output_of(graph, "token_count")}, options);
}

}  // namespace

bool make_training_entries(Module& module, const TrainingOptions& given) {
  TrainingOptions options = given;
  check_loss(module, options.loss);
  find_matrices(module, options);  // which multiply: first of all
  if (options.fp8) quantize_matmuls(module, {options.fp8_weights, options.fp8_keep});
  if (llvm::all_of(module.parameters, [](const auto& parameter) { return parameter.frozen; }))
    fail("there is nothing to train: all parameters are frozen");
  flatten_parameters(module, {.multiple = flat_multiple(options.optimizer.optimizer)});
  const size_t others = module.graphs.size();
  make_train_step(module, options);
  if (options.accumulation) {
    make_accumulate(module, options);
    make_apply(module, options);
  }
  for (const auto& graph : llvm::ArrayRef(module.graphs).take_front(others)) read_averages(*graph);
  return true;
}

}  // namespace smelt
