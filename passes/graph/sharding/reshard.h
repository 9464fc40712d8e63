// Collectives and slices that change the sharding of a rank's part of a value.
#pragma once

#include <map>
#include <tuple>

#include "ir/graph/builder.h"
#include "passes/graph/sharding/assignment.h"

namespace smelt {

/// Record of one inserted collective, for reports: an unexpected gather is costly.
struct CollectiveEntry {
  std::string graph, kind, axis, source, because, type;
  double bytes = 0;  // of its result at the symbols' bounds
};

class Resharder {
 public:
  Resharder(GraphBuilder& b, std::vector<CollectiveEntry>* log) : b_(b), log_(log) {}

  /// Returns the value with the sharding `to`. Equal calls return the same node, except for gathers of
  /// forward: backward gathers again, so that no rank keeps the whole. `because` is for the log.
  Value* move(Value* value, const Sharding& from, const Sharding& to, const std::string& because);
  void set_phase(Phase phase) { phase_ = phase; }
  /// Returns the rank's index among the parts that `axes` cut a dim into: a size, 0 to parts - 1.
  Dim place(const std::vector<size_t>& axes) const;
  /// Returns that index times a number, as an i32 scalar.
  Value* place_value(const std::vector<size_t>& axes, int64_t times = 1);
  /// Builds an all_reduce over each of the axes.
  Value* all_reduce(Value* value, const std::vector<size_t>& axes, const char* sum,
                    const std::string& because);

 private:
  Value* collective(Value* value, const char* kind, size_t axis, Attributes attributes,
                    const std::string& because);
  bool step(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool scatter(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool slice(Value*& value, Sharding& at, const Sharding& to);
  bool exchange(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool sum(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool gather(Value*& value, Sharding& at, const Sharding& to, const std::string& because);
  bool make_addend(Value*& value, Sharding& at, const Sharding& to);
  void finish_a_sum(Value*& value, Sharding& at, const Sharding& to, const std::string& because);

  const Mesh& mesh() const { return b_.module().mesh(); }
  GraphBuilder& b_;
  std::vector<CollectiveEntry>* log_;
  Phase phase_ = Phase::forward;
  std::map<std::tuple<const Value*, std::string, Phase>, Value*> made_;
  std::map<std::pair<std::vector<size_t>, int64_t>, Value*> places_;
};

}  // namespace smelt
