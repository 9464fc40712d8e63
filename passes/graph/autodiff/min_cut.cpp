#include "passes/graph/autodiff/min_cut.h"

#include <algorithm>

namespace smelt {
namespace {
constexpr int kSource = 0, kSink = 1;
int before(int vertex) { return 2 + 2 * vertex; }
int behind(int vertex) { return 3 + 2 * vertex; }
}  // namespace

int MinCut::add_node() {
  arcs_of_.emplace_back();
  return static_cast<int>(arcs_of_.size()) - 1;
}

void MinCut::add_arc(int from, int to, int64_t capacity) {
  arcs_of_[from].push_back(static_cast<int>(arcs_.size()));
  arcs_.push_back({to, capacity});
  arcs_of_[to].push_back(static_cast<int>(arcs_.size()));
  arcs_.push_back({from, 0});
}

int MinCut::add_vertex(int64_t cost) {
  const int in = add_node(), out = add_node();
  add_arc(in, out, cost);
  return (in - 2) / 2;
}

void MinCut::add_edge(int from, int to) { add_arc(behind(from), before(to), kInfinite); }
void MinCut::add_source(int vertex, int64_t cost) { add_arc(kSource, before(vertex), cost); }
void MinCut::add_sink(int vertex) { add_arc(behind(vertex), kSink, kInfinite); }

bool MinCut::label() {
  depth_.assign(arcs_of_.size(), -1);
  std::vector<int> queue = {kSource};
  depth_[kSource] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int arc : arcs_of_[queue[i]])
      if (arcs_[arc].capacity > 0 && depth_[arcs_[arc].to] < 0) {
        depth_[arcs_[arc].to] = depth_[queue[i]] + 1;
        queue.push_back(arcs_[arc].to);
      }
  return depth_[kSink] >= 0;
}

int64_t MinCut::push(int node, int64_t limit) {
  if (node == kSink) return limit;
  for (size_t& i = next_[node]; i < arcs_of_[node].size(); ++i) {
    const int arc = arcs_of_[node][i];
    if (arcs_[arc].capacity == 0 || depth_[arcs_[arc].to] != depth_[node] + 1) continue;
    const int64_t pushed = push(arcs_[arc].to, std::min(limit, arcs_[arc].capacity));
    if (pushed == 0) continue;
    arcs_[arc].capacity -= pushed;
    arcs_[arc ^ 1].capacity += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> MinCut::reaching_sink() const {
  std::vector<bool> reaches(arcs_of_.size());
  std::vector<int> queue = {kSink};
  reaches[kSink] = true;
  for (size_t i = 0; i < queue.size(); ++i)
    for (int arc : arcs_of_[queue[i]])  // the reverse arc leads from a neighbour here
      if (arcs_[arc ^ 1].capacity > 0 && !reaches[arcs_[arc].to]) {
        reaches[arcs_[arc].to] = true;
        queue.push_back(arcs_[arc].to);
      }
  return reaches;
}

std::vector<bool> MinCut::solve() {
  while (label()) {
    next_.assign(arcs_of_.size(), 0);
    while (const int64_t pushed = push(kSource, kInfinite)) flow_ += pushed;
  }
  const std::vector<bool> reaches = reaching_sink();
  std::vector<bool> cut(arcs_of_.size() / 2 - 1);
  for (int v = 0; v < static_cast<int>(cut.size()); ++v) cut[v] = !reaches[before(v)] && reaches[behind(v)];
  return cut;
}

}  // namespace smelt
