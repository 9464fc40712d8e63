#include "passes/graph/sharding/leave_addends.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"
#include "passes/graph/pipeline/cut_stages.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr const char* kEvaluated = "evaluate";
constexpr std::string_view kSums[] = {"loss_sum", "token_count"};

bool returns_addends(const std::string& graph) {
  return graph == "accumulate" || graph == kEvaluated || graph == kBatchEntry ||
         part_number(graph, kEvaluated);
}

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

bool leave_addends(Module& module, const LeaveAddendsOptions& options) {
  const auto number = module.mesh().find(options.axis);
  if (!number) return false;
  bool changed = false;
  for (const auto& graph : module.graphs) {
    if (graph->name == "train_step" || graph->name == "accumulate") require_cut_batch(*graph, *number);
    if (!returns_addends(graph->name)) continue;
    for (const Graph::Output& output : graph->outputs)
      if (llvm::is_contained(kSums, output.name))
        output.value->sharding = Sharding{{}, {*number}}, changed = true;
  }
  return changed;
}

std::vector<std::string> addend_outputs(int64_t parts) {
  std::vector<std::string> graphs = {"accumulate", kEvaluated, std::string(kBatchEntry)}, outputs;
  for (int64_t part = 0; part < parts; ++part) graphs.push_back(part_name(kEvaluated, part));
  for (const std::string& graph : graphs)
    for (const std::string_view sum : kSums) outputs.push_back(fmt::format("{}.{}", graph, sum));
  return outputs;
}

}  // namespace smelt
