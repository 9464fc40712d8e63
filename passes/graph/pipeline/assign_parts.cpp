#include "passes/graph/pipeline/assign_parts.h"

#include <limits>

#include "llvm/ADT/DenseSet.h"
#include "passes/graph/autodiff/trunk.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Returns the values of the residual stream after the first matrix product, because a part before it would
/// have no work.
std::vector<const Node*> trunk_of(const Graph& graph) {
  llvm::DenseSet<const Node*> trunk;
  for (const TrunkValue& each : find_trunk(graph, [](const Node&) { return true; }))
    trunk.insert(each.value->node());
  std::vector<const Node*> nodes;
  bool has_work = false;
  for (const auto& node : graph.nodes()) {
    has_work |= matrix_flops(*node) > 0;
    if (has_work && trunk.contains(node.get())) nodes.push_back(node.get());
  }
  return nodes;
}

/// Seconds of the matrix products up to each value of the trunk and, last, of all.
std::vector<double> costs_up_to(const Graph& graph, const std::vector<const Node*>& trunk,
                                const NodeSecondsOptions& time) {
  std::vector<double> costs;
  double sum = 0;
  for (const auto& node : graph.nodes()) {
    if (matrix_flops(*node) > 0) sum += node_seconds(*node, time);
    if (costs.size() < trunk.size() && node.get() == trunk[costs.size()]) costs.push_back(sum);
  }
  costs.push_back(sum);
  return costs;
}

/// The largest cost of a part, then the sum of squares, which tells parts that are even from others.
struct Evenness {
  double most = 0, squares = 0;
  auto operator<=>(const Evenness&) const = default;
  Evenness with(double cost) const { return {std::max(most, cost), squares + cost * cost}; }
};

/// The best way to end part number p at each place, from the best ways to end the part before it.
struct Way {
  Evenness evenness{std::numeric_limits<double>::infinity(), 0};
  size_t before = 0;
};
using Ways = std::vector<Way>;

Ways next_part(const Ways& last, const std::vector<double>& costs) {
  Ways ways(last.size());
  for (size_t end = 1; end < ways.size(); ++end)
    for (size_t begin = 0; begin < end; ++begin) {
      const Evenness evenness = last[begin].evenness.with(costs[end] - costs[begin]);
      if (evenness < ways[end].evenness) ways[end] = {evenness, begin};
    }
  return ways;
}

Ways first_part(const std::vector<double>& costs) {
  Ways ways;
  for (const double cost : costs) ways.push_back({Evenness{}.with(cost), 0});
  return ways;
}

}  // namespace

PartEnds choose_part_ends(const Graph& graph, int64_t parts, const NodeSecondsOptions& time) {
  const std::vector<const Node*> trunk = trunk_of(graph);
  if (parts > 1 && trunk.empty())
    fail(
        "graph @{} has no residual trunk, the values that alone go from one block to the next: there is no "
        "place at which a pipeline could cut it; train it without the axis stage",
        graph.name);
  if (std::ssize(trunk) < parts - 1)
    fail("the trunk of graph @{} has {} values to cut it at, which make at most {} parts; {} are asked for",
         graph.name, trunk.size(), trunk.size() + 1, parts);
  const std::vector<double> costs = costs_up_to(graph, trunk, time);
  std::vector<Ways> ways = {first_part(costs)};
  while (std::ssize(ways) < parts) ways.push_back(next_part(ways.back(), costs));
  PartEnds ends(static_cast<size_t>(parts - 1));
  size_t end = trunk.size();
  for (size_t part = ends.size(); part > 0; --part) end = ends[part - 1] = ways[part][end].before;
  return ends;
}

llvm::DenseMap<const Node*, int64_t> assign_parts(const Graph& graph, const PartEnds& ends) {
  const std::vector<const Node*> trunk = trunk_of(graph);
  if (!ends.empty() && ends.back() >= trunk.size())
    fail("graph @{} has a trunk of {} values, expected more than {}: it is not cut as the graph of the loss",
         graph.name, trunk.size(), ends.back());
  llvm::DenseMap<const Node*, int64_t> parts;
  size_t part = 0;
  for (const auto& node : graph.nodes()) {
    parts[node.get()] = static_cast<int64_t>(part);
    if (part < ends.size() && node.get() == trunk[ends[part]]) ++part;
  }
  return parts;
}

}  // namespace smelt
