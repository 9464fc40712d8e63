#include "passes/graph/pipeline/pipeline_entries.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/autodiff/differentiate.h"
#include "passes/graph/pipeline/cut_stages.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/gradient_sums.h"
#include "passes/graph/training/loss_scale.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr const char *kTotalName = "total", *kGradientPrefix = "grad.";

Value* find_output(const Graph& graph, std::string_view name) {
  const auto found =
      llvm::find_if(graph.outputs, [&](const Graph::Output& output) { return output.name == name; });
  return found == graph.outputs.end() ? nullptr : found->value;
}

/// Returns the values that cross the boundary before the part: inputs of its graph.
std::vector<std::string> received_names(const Graph& graph, int64_t part) {
  std::vector<std::string> names;
  for (size_t i = 0; graph.find_input(values_name(part, i)); ++i) {
    const Value* value = graph.find_input(values_name(part, i))->result();
    if (is_float(value->dtype())) names.push_back(values_name(part, i));
  }
  return names;
}

/// Appends to the work of one part.
class PartWork {
 public:
  PartWork(Graph& graph, int64_t part, bool is_first_of_stage, const TrainingOptions& options)
      : graph_(graph), part_(part), is_first_(is_first_of_stage), options_(options) {}

  void make() {
    BatchCounts counts{find_output(graph_, "loss_sum"), find_output(graph_, "token_count"), is_first_};
    if (!counts.token_count)
      fail("graph @{} has no output token_count, the number of targets (docs/guides/models.md)", graph_.name);
    drop_counts();
    const std::vector<std::string> received = received_names(graph_, part_);
    Value* total = total_of(counts);
    if (!total) fail("graph @{}: part {} returns nothing that the loss depends on", graph_.name, part_);
    graph_.outputs.push_back({kTotalName, total});
    keep_counts(counts);
    differentiate(graph_, {kTotalName, variables(received), 1});
    llvm::erase_if(graph_.outputs, [](const auto& output) { return output.name == kTotalName; });
    rename_gradients(received);
    if (counts.loss_sum) counts.loss_sum = find_output(graph_, "loss_sum");
    counts.token_count = find_output(graph_, "token_count");
    add_sums(graph_, counts, options_);
    drop_counts();
    graph_.prune();
  }

 private:
  /// Keeps the counts, because differentiation removes nodes without a reader.
  void keep_counts(const BatchCounts& counts) {
    if (counts.loss_sum) graph_.outputs.push_back({"loss_sum", counts.loss_sum});
    graph_.outputs.push_back({"token_count", counts.token_count});
  }

  void drop_counts() {
    llvm::erase_if(graph_.outputs, [](const Graph::Output& output) {
      return output.name == "loss_sum" || output.name == "token_count";
    });
  }

  /// The scalar to differentiate: the loss where it is made here, and each value that later parts read times
  /// its gradient.
  Value* total_of(const BatchCounts& counts) {
    GraphBuilder b(graph_);
    b.set_source("loss");
    Value* total = counts.loss_sum ? scaled_loss(b, counts) : nullptr;
    for (size_t i = 0; Value* sent = find_output(graph_, values_name(part_ + 1, i)); ++i) {
      if (!is_float(sent->dtype())) continue;
      Value* given = b.input(gradients_name(part_ + 1, i), sent->type);
      Value* product = b.mul(sent, given);
      if (product->rank() > 0) product = b.sum(product, leading_axes(product->rank()));
      total = total ? b.add(total, product) : product;
    }
    return total;
  }

  Value* scaled_loss(GraphBuilder& b, const BatchCounts& counts) {
    const LossScaling& scaling = options_.optimizer.scaling;
    if (!scaling.on) return counts.loss_sum;
    return b.mul(mean_loss(b, counts.loss_sum, counts.token_count), loss_scale(b, scaling));
  }

  std::vector<std::string> variables(const std::vector<std::string>& received) const {
    std::vector<std::string> names = received;
    for (const Module::Parameter& parameter : graph_.module().parameters)
      if (!parameter.frozen && is_float(parameter.type.dtype)) names.push_back(parameter.name);
    return names;
  }

  void rename_gradients(const std::vector<std::string>& received) {
    for (Graph::Output& output : graph_.outputs)
      for (const std::string& name : received)
        if (output.name == kGradientPrefix + name)
          output.name = "gradients" + name.substr(std::string_view("values").size());
  }

  Graph& graph_;
  const int64_t part_;
  const bool is_first_;
  const TrainingOptions& options_;
};

}  // namespace

bool make_pipeline_entries(Module& module, const TrainingOptions& options) {
  if (llvm::all_of(module.parameters, [](const auto& parameter) { return parameter.frozen; }))
    fail("there is nothing to train on stage {} of the pipeline: all of its parameters are frozen",
         module.stage.value_or(0));
  flatten_parameters(module);
  bool is_first = true;
  std::vector<Graph*> graphs;
  for (const auto& graph : module.graphs) graphs.push_back(graph.get());
  for (Graph* graph : graphs)
    if (const auto part = part_number(graph->name, options.loss)) {
      PartWork(*graph, *part, is_first, options).make();
      is_first = false;
    }
  make_apply(module, options);
  return true;
}

}  // namespace smelt
