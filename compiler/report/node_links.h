// Links between the nodes of an entry's fused graph, the entry's steps, and the kernels in the report of the
// pass `fuse`. The links are found by the names of sources (the operations of the model) and by buffers.
#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "passes/graph/fusion/fusion_report.h"

namespace smelt {

/// Returns whether a node has work at run time. This is true for all nodes except leaves (such as inputs),
/// views and effects.
bool runs(const Node& node);

/// A node and the numbers of its steps.
struct NodeSteps {
  const Node* node;
  std::vector<int> steps;
};
/// Returns all nodes of the graph that run, in program order, with their steps. A step matches a node if it
/// has the node's phase (forward, backward or update) and all of the node's sources. The steps of a node are
/// the matching steps that write one of its results. If there is no such step, because one kernel both
/// computes and uses the result, the node gets one step: the matching step with the fewest sources. Some
/// steps write no result of a node, such as a step that computes partial sums. Such a step is listed in front
/// of a step that reads its result, if both have the same phase and sources. Several nodes may have the same
/// step.
std::vector<NodeSteps> link_steps(const Graph& graph, const PlanEntry& entry);

/// Returns one index into `nodes` for each kernel that the report has for the graph named `graph`, in the
/// report's order; -1 for a kernel without a node, because a later pass fused it into another one.
std::vector<int> link_kernels(const FusionReport& report, const std::vector<NodeSteps>& nodes,
                              const std::string& graph);

}  // namespace smelt
