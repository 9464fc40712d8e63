// Links between the nodes of an entry's fused graph, its steps, and the kernels of fuse's report. They are
// found by the names of sources and by buffers, and are not stored in steps, because nothing in a plan
// depends on them.
#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "passes/graph/fusion/fusion_report.h"

namespace smelt {

/// Returns whether a node runs: it is no leaf, view or effect.
bool runs(const Node& node);

/// Nodes of a graph that run, in program order, and the numbers of their steps: those of its phase that have
/// all its sources and write one of its results, or, where there are none, the one with the fewest other
/// sources; before them those that prepare what they read, such as partial sums. Several nodes may have
/// become one step.
struct NodeSteps {
  const Node* node;
  std::vector<int> steps;
};
std::vector<NodeSteps> link_steps(const Graph& graph, const PlanEntry& entry);

/// Returns for each kernel of this graph in the report, in order, its position in `nodes`; -1 for kernels
/// that became a part of another node.
std::vector<int> link_kernels(const FusionReport& report, const std::vector<NodeSteps>& nodes,
                              const std::string& graph);

}  // namespace smelt
