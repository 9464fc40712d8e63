// Minimum vertex cut: the cheapest set of vertices that separates sources from sinks (Dinic's maximum flow on
// split vertices).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smelt {

class MinCut {
 public:
  static constexpr int64_t kInfinite = int64_t{1} << 60;

  int add_vertex(int64_t cost);  // the cost of having the vertex in the cut
  void add_edge(int from, int to);
  /// Adds a source: flow enters before the vertex's own cost. A finite `cost` is the price of leaving the
  /// vertex on the side of the sinks.
  void add_source(int vertex, int64_t cost = kInfinite);
  void add_sink(int vertex);  // flow leaves after the vertex's own cost
  /// Returns per vertex whether it is in the cut. Among equally cheap cuts the one nearest to the sinks is
  /// taken.
  std::vector<bool> solve();
  /// The cost of the cut, after solve().
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

  // Nodes 0 and 1 are source and sink; vertex v is the arc from 2 + 2v to 3 + 2v. Arcs come in pairs, i ^ 1
  // is i's reverse.
  std::vector<std::vector<int>> arcs_of_ = std::vector<std::vector<int>>(2);
  std::vector<Arc> arcs_;
  std::vector<int> depth_;
  std::vector<size_t> next_;
  int64_t flow_ = 0;
};

}  // namespace smelt
