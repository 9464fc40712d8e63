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
/// node's phase, all of its sources, and writes one of its results. If there is no such step, because a
/// kernel computes and uses the result, the step is the one with the phase, all sources, and the fewest other
/// sources. Steps that compute only operands of these steps, such as partial sums, come before them. Several
/// nodes may have the same step.
std::vector<NodeSteps> link_steps(const Graph& graph, const PlanEntry& entry);

/// Returns one index into `nodes` per kernel that the report has for the graph of this name, in the report's
/// order; -1 for a kernel that became a part of another node.
std::vector<int> link_kernels(const FusionReport& report, const std::vector<NodeSteps>& nodes,
                              const std::string& graph);

}  // namespace smelt
