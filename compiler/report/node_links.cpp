#include "compiler/report/node_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/report/source_layer.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/plan/step_values.h"

namespace smelt {
namespace {

bool has_all(const std::vector<std::string>& sources, const std::vector<std::string>& wanted) {
  return llvm::all_of(wanted, [&](const std::string& part) { return llvm::is_contained(sources, part); });
}

class StepLinks {
 public:
  explicit StepLinks(const PlanEntry& entry) : entry_(entry) {
    for (size_t i = 0; i < entry.steps.size(); ++i) {
      for (const int buffer : entry.steps[i].writes) writers_[buffer].push_back(static_cast<int>(i));
      places_.emplace_back();
      for (const auto& [field, place] : values_of(entry.steps[i]).addresses) places_.back().push_back(place);
    }
  }

  std::vector<int> steps_of(const Node& node) {
    const std::vector<std::string> sources = source_parts(node.source);
    std::vector<int> found = writers(node, sources);
    if (found.empty()) found = nearest(node, sources);
    taken_.insert(found.begin(), found.end());
    return found;
  }

 private:
  bool fits(int step, const Node& node, const std::vector<std::string>& sources) const {
    const Step& other = entry_.steps[static_cast<size_t>(step)];
    if (std::holds_alternative<GemmStep>(other.what) && !node.is(Op::matmul)) return false;
    return other.phase == name(node.phase) && has_all(other.sources, sources);
  }

  /// Steps that write a result, if there are any to where it begins: those, since flat buffers have many.
  std::vector<int> writers(const Node& node, const std::vector<std::string>& sources) const {
    std::set<int> steps, exact;
    for (const auto& result : node.results()) {
      if (!result->layout) continue;
      const auto found = writers_.find(result->layout->buffer);
      if (found == writers_.end()) continue;
      const BufferRef begin = {result->layout->buffer, result->layout->offset};
      for (const int step : found->second) {
        if (!fits(step, node, sources)) continue;
        steps.insert(step);
        if (llvm::is_contained(places_[static_cast<size_t>(step)], begin)) exact.insert(step);
      }
    }
    const std::set<int>& best = exact.empty() ? steps : exact;
    return {best.begin(), best.end()};
  }

  /// Returns the nearest step of a node whose result is not in memory, because one kernel computes and uses
  /// it.
  std::vector<int> nearest(const Node& node, const std::vector<std::string>& sources) const {
    int best = -1;
    auto key = [&](int step) {
      return std::pair(entry_.steps[static_cast<size_t>(step)].sources.size(), taken_.contains(step));
    };
    for (int step = 0; step < static_cast<int>(entry_.steps.size()); ++step)
      if (fits(step, node, sources) && (best < 0 || key(step) < key(best))) best = step;
    return best < 0 ? std::vector<int>() : std::vector<int>{best};
  }

  const PlanEntry& entry_;
  std::map<int, std::vector<int>> writers_;
  std::vector<std::vector<BufferRef>> places_;  // that each step is given
  std::set<int> taken_;
};

/// Adds steps that no node leads to, such as those that make partial sums, to what reads their results and
/// has the same sources.
void add_helpers(const PlanEntry& entry, std::vector<NodeSteps>& links) {
  std::map<int, NodeSteps*> node_of;
  for (NodeSteps& link : links)
    for (const int step : link.steps) node_of[step] = &link;
  const auto prepares = [&](const Step& first, const Step& then) {
    return first.phase == then.phase && first.sources == then.sources &&
           llvm::any_of(first.writes, [&](int buffer) { return llvm::is_contained(then.reads, buffer); });
  };
  for (int i = static_cast<int>(entry.steps.size()) - 1; i >= 0; --i) {
    if (node_of.contains(i)) continue;
    const auto reader = llvm::find_if(node_of, [&](const auto& known) {
      return known.first > i &&
             prepares(entry.steps[static_cast<size_t>(i)], entry.steps[static_cast<size_t>(known.first)]);
    });
    if (reader == node_of.end()) continue;
    NodeSteps* const link = reader->second;
    link->steps.insert(link->steps.begin(), i);
    node_of[i] = link;
  }
}

/// Returns the operations of a kernel that later passes do not change: passes add roundings, and merge equal
/// nodes.
std::vector<std::string> main_operations(const Graph& body) {
  std::vector<std::string> operations;
  for (const auto& node : body.nodes())
    if (node->is(Op::reduce))
      operations.push_back(fmt::format("reduce {}", name(node->reduce_op)));
    else if (node->is(Op::pointwise))
      operations.emplace_back(node->mnemonic());
  llvm::sort(operations);
  return operations;
}

/// Returns the number of operations that only one of two sorted lists has.
size_t difference(const std::vector<std::string>& a, std::vector<std::string> b) {
  llvm::sort(b);
  std::vector<std::string> apart;
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(apart));
  return apart.size();
}

}  // namespace

bool runs(const Node& node) {
  const OpInfo& row = info(node.op());
  return !row.has(Trait::leaf) && !row.has(Trait::view) && !row.has(Trait::effect);
}

std::vector<NodeSteps> link_steps(const Graph& graph, const PlanEntry& entry) {
  StepLinks links(entry);
  std::vector<NodeSteps> result;
  for (const auto& node : graph.nodes())
    if (runs(*node)) result.push_back({node.get(), links.steps_of(*node)});
  add_helpers(entry, result);
  return result;
}

std::vector<int> link_kernels(const FusionReport& report, const std::vector<NodeSteps>& nodes,
                              const std::string& graph) {
  std::vector<int> result;
  std::set<size_t> taken;
  for (const FusionReport::Kernel& kernel : report.kernels) {
    if (kernel.graph != graph) continue;
    int best = -1;
    size_t least = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = *nodes[i].node;
      if (!node.is(Op::fusion) || node.source != kernel.source || node.phase != kernel.phase) continue;
      if (taken.contains(i)) continue;
      const size_t apart = difference(main_operations(*node.body), kernel.operations);
      if (best < 0 || apart < least) best = static_cast<int>(i), least = apart;
    }
    if (best >= 0) taken.insert(static_cast<size_t>(best));
    result.push_back(best);
  }
  return result;
}

}  // namespace smelt
