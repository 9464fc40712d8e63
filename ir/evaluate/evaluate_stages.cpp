#include "ir/evaluate/evaluate_ranks.h"

#include <memory>

#include "ir/evaluate/graph_run.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using namespace evaluation;

/// A stage between two collectives.
struct RunningStage {
  explicit RunningStage(const StageRun& given, const EvaluateOptions& options)
      : graph(*given.graph),
        arguments{*given.inputs, *given.states, nullptr, options},
        run(graph, arguments) {
    for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  }

  /// The collective that it waits in; null at the end.
  const Node* go_on() {
    for (; next < nodes.size(); ++next) {
      if (nodes[next]->is(Op::collective)) return nodes[next++];
      run.run(*nodes[next]);
    }
    return nullptr;
  }

  const Graph& graph;
  Arguments arguments;
  Run<double> run;
  std::vector<const Node*> nodes;
  size_t next = 0;
};

using RunningStages = std::vector<std::unique_ptr<RunningStage>>;

void check_collective(const Node& node, const Node& first) {
  if (node.get(attr::kind) != "all_reduce" || node.get(attr::mesh_axis) != kStageAxis)
    fail("{}: stages make sums over each other alone", node.describe());
  if (node.attributes != first.attributes || node.result()->type != first.result()->type)
    fail("{} of @{} meets another collective of another stage, {} of {}", node.describe(), node.graph().name,
         first.describe(), str(first.result()->type));
}

bool is_maximum(const Node& node) { return node.has(attr::sum) && node.get(attr::sum) == "max"; }

void reduce_over(RunningStages& stages, const std::vector<const Node*>& nodes) {
  for (const Node* node : nodes) check_collective(*node, *nodes[0]);
  Array<double> sum = stages[0]->run[nodes[0]->operand(0)];
  for (size_t stage = 1; stage < stages.size(); ++stage) {
    const Array<double>& addend = stages[stage]->run[nodes[stage]->operand(0)];
    for (size_t i = 0; i < sum.data.size(); ++i) {
      double& at = sum.data[i];
      at = is_maximum(*nodes[0]) ? std::max(at, addend.data[i]) : at + addend.data[i];
    }
  }
  for (size_t stage = 0; stage < stages.size(); ++stage) stages[stage]->run.set(nodes[stage]->result(), sum);
}

Evaluation results_of(const RunningStage& stage) {
  Evaluation result;
  for (const Graph::Output& output : stage.graph.outputs)
    result.outputs[output.name] = values_of(stage.run[output.value], output.value->dtype());
  for (const auto& [name, written] : stage.run.states())
    result.states[name] = values_of(written.array, written.dtype);
  return result;
}

}  // namespace

std::vector<Evaluation> evaluate_stages(const std::vector<StageRun>& given, const EvaluateOptions& options) {
  RunningStages stages;
  for (const StageRun& each : given) stages.push_back(std::make_unique<RunningStage>(each, options));
  while (true) {
    std::vector<const Node*> nodes;
    for (const auto& stage : stages) nodes.push_back(stage->go_on());
    const auto ended = static_cast<size_t>(llvm::count(nodes, nullptr));
    if (ended == nodes.size()) break;
    if (ended > 0) fail("a stage of the pipeline ends while another waits in a collective");
    reduce_over(stages, nodes);
  }
  std::vector<Evaluation> results;
  for (const auto& stage : stages) results.push_back(results_of(*stage));
  return results;
}

}  // namespace smelt
