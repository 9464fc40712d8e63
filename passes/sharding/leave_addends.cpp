#include "passes/sharding/leave_addends.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/pipeline/cut_stages.h"
#include "runtime/error.h"

namespace smelt {
namespace {

bool is_cut(const Value& input, size_t axis) {
  return input.sharding && llvm::any_of(input.sharding->dims, [&](const std::vector<size_t>& axes) {
           return llvm::is_contained(axes, axis);
         });
}

void require_cut_batch(const Graph& graph, size_t axis) {
  if (llvm::any_of(graph.inputs(), [&](const Node* input) { return is_cut(*input->result(), axis); })) return;
  const Mesh& mesh = graph.module().mesh();
  fail(
      "graph @{} has no input whose first dim is a symbol, of which ranks along the axis {} of the mesh ({}) "
      "could have parts",
      graph.name, mesh.axes[axis].name, str(mesh));
}

}  // namespace

std::vector<std::string> leave_addends(Module& module, std::string_view axis) {
  std::vector<std::string> addends;
  const auto number = module.mesh().find(axis);
  if (!number) return addends;
  for (const auto& graph : module.graphs) {
    if (graph->name == "train_step" || graph->name == "accumulate") require_cut_batch(*graph, *number);
    if (graph->name != "accumulate" && graph->name != "evaluate" && graph->name != kBatchEntry &&
        !part_number(graph->name, "evaluate"))
      continue;
    for (const Graph::Output& output : graph->outputs) {
      if (output.name != "loss_sum" && output.name != "token_count") continue;
      output.value->sharding = Sharding{{}, {*number}};
      addends.push_back(graph->name + "." + output.name);
    }
  }
  return addends;
}

}  // namespace smelt
