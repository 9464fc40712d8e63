// Links between the nodes of an entry's fused graph, the entry's steps, and the kernels in the report of the
// pass `fuse`. The links are found by the names of sources (the operations of the model) and by buffers.
// Steps do not store them, because nothing in a plan depends on them.
#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "passes/graph/fusion/fusion_report.h"

namespace smelt {

/// Returns whether a node runs, which is true for all nodes but leaves, views and effects.
bool runs(const Node& node);

/// A node and the numbers of its steps.
struct NodeSteps {
  const Node* node;
  std::vector<int> steps;
};
/// Returns all nodes of the graph that run, in program order, with their steps. A step of a node has the
/// phase and all sources of the node, and writes one of the node's results. If there is no such step, because
/// one kernel both computes and uses the result, the node gets one step: of the steps with its phase and all
/// its sources, the one with the fewest other sources. Before the steps of a node, its list has the steps
/// with the same sources that compute only operands of them, such as partial sums. Several nodes may have the
/// same step.
std::vector<NodeSteps> link_steps(const Graph& graph, const PlanEntry& entry);

/// Returns one index into `nodes` for each kernel that the report has for the graph named `graph`, in the
/// report's order; -1 for a kernel without a node, because a later pass fused it into another one.
std::vector<int> link_kernels(const FusionReport& report, const std::vector<NodeSteps>& nodes,
                              const std::string& graph);

}  // namespace smelt
