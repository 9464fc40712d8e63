// Insertion of the collectives and slices that change the sharding of a value.
#pragma once

#include <map>
#include <tuple>

#include "ir/graph/builder.h"
#include "passes/graph/sharding/assignment.h"

namespace smelt {

/// Record of one inserted collective. Reports list these records, because an unexpected gather is costly.
/// `source` is the Node::source of the collective, `because` names the node or output that needs the value,
/// and `type` is the type of the collective's result.
struct CollectiveEntry {
  std::string graph, kind, axis, source, because, type;
  double bytes = 0;  // of the collective's result at the symbols' upper bounds
};

/// Inserts the collectives and slices into one graph. `axes` are indices into Mesh::axes, the outermost
/// first.
class Resharder {
 public:
  /// Inserts nodes at the position of `b`. `log` receives a record per collective; null: no log.
  Resharder(GraphBuilder& b, std::vector<CollectiveEntry>* log) : b_(b), log_(log) {}

  /// Returns the value with the sharding `to`. Equal calls in one phase return the same value, so the move is
  /// done once. A sum over ranks (`from` is partial) is even done once for all phases. Any other value is
  /// moved again in each phase, so that no rank keeps a gathered value from forward to backward. `because` is
  /// for the log.
  Value* move(Value* value, const Sharding& from, const Sharding& to, const std::string& because);
  /// Sets the phase to which later calls of move() belong.
  void set_phase(Phase phase) { phase_ = phase; }
  /// Returns the index of the rank's part, 0 to parts - 1, in a dim that `axes` cut into parts. It is an
  /// expression of the coordinates of the rank.
  Dim place(const std::vector<size_t>& axes) const;
  /// Returns place(axes) * times as an i32 scalar of the graph.
  Value* place_value(const std::vector<size_t>& axes, int64_t times = 1);
  /// Builds an all_reduce over each of the axes and returns the result. `sum`: "add", "max", ..., the
  /// operation that combines the ranks' values.
  Value* all_reduce(Value* value, const std::vector<size_t>& axes, const char* sum,
                    const std::string& because);

 private:
  Value* collective(Value* value, const char* kind, size_t axis, Attributes attributes,
                    const std::string& because);
  /// Inserts one operation that brings `value` from the sharding `at` nearer to `to`, and updates `value` and
  /// `at`. Returns false if there is none. step() inserts the first one that the six functions after it can
  /// insert.
  bool step(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool scatter(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool slice(Value*& value, Sharding& at, const Sharding& to);
  bool exchange(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool sum(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool gather(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool make_addend(Value*& value, Sharding& at, const Sharding& to);
  /// Computes the sum over one partial axis by an all_reduce, if step() can insert no operation.
  void finish_a_sum(Value*& value, Sharding& at, const Sharding& to, const std::string& because);

  const Mesh& mesh() const { return b_.module().mesh(); }
  GraphBuilder& b_;
  std::vector<CollectiveEntry>* log_;
  Phase phase_ = Phase::forward;
  std::map<std::tuple<const Value*, std::string, Phase>, Value*> made_;
  std::map<std::pair<std::vector<size_t>, int64_t>, Value*> places_;
};

}  // namespace smelt
