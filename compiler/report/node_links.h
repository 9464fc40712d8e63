// Which steps of an entry a node of its fused graph became, and which node a kernel of fuse's report is.
// Names of sources and buffers say it: nothing of a plan depends on it, so steps do not carry it.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/program.h"
#include "passes/fusion/fusion_report.h"

namespace smelt {

/// Whether a node runs: it is no leaf, view or effect.
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

/// For each kernel of this graph in the report, in order, its place in `nodes`; -1 of kernels that became a
/// part of another node.
std::vector<int> link_kernels(const FusionReport& report, const std::vector<NodeSteps>& nodes,
                              const std::string& graph);

}  // namespace smelt
