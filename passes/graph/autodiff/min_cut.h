// Minimum vertex cut: the cheapest set of vertices that separates sources from sinks (Dinic's maximum flow on
// split vertices).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smelt {

/// Directed graph whose vertices have costs. A cut is a set of vertices that contains at least one vertex of
/// every path from a source to a sink. Its cost is the sum of the costs of its vertices.
class MinCut {
 public:
  static constexpr int64_t kInfinite = int64_t{1} << 60;

  /// Adds a vertex and returns its number; the first vertex has the number 0.
  int add_vertex(int64_t cost);
  void add_edge(int from, int to);
  /// Makes the vertex a source. The vertex itself can be in the cut. If `cost` is finite, solve() may also
  /// ignore this source, which adds `cost` to the cost of the cut.
  void add_source(int vertex, int64_t cost = kInfinite);
  /// Makes the vertex a sink. The vertex itself can be in the cut.
  void add_sink(int vertex);
  /// Computes the cheapest cut. If several cuts have the same cost, takes the one nearest to the sinks.
  /// Returns for each vertex whether it is in the cut.
  std::vector<bool> solve();
  /// Returns the cost of the cut that solve() found.
  int64_t cost() const { return flow_; }

 private:
  struct Arc {
    int to;
    int64_t capacity;
  };
  int add_node();
  void add_arc(int from, int to, int64_t capacity);
  bool label();
  int64_t push(int node, int64_t limit);
  std::vector<bool> reaching_sink() const;

  // Flow network: node 0 is the source, and node 1 is the sink. Vertex v is an arc from node 2 + 2v to node 3
  // + 2v. Arc i ^ 1 is the reverse of arc i.
  std::vector<std::vector<int>> arcs_of_ = std::vector<std::vector<int>>(2);
  std::vector<Arc> arcs_;
  std::vector<int> depth_;
  std::vector<size_t> next_;
  int64_t flow_ = 0;
};

}  // namespace smelt
