// Ranges of the integers of a graph: one per value, derived from the leaves on.
#pragma once

#include <optional>

#include "ir/analysis/real_range.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Every element is in [least, most], or is `beside`.
struct IndexRange {
  int64_t least = 0, most = 0;
  std::optional<int64_t> beside = {};  // a number outside the range that an input may hold to be ignored
  std::optional<Dim> below = {};       // all elements of the range are below it, known at launch
  bool attained = false;  // some element is `least` and some element is `most`, whatever the data

  /// Returns whether every element is a row of a table of `rows` rows.
  bool within(const Dim& rows) const;
  /// The same with bounds of symbols: a table of 9 - B rows with B <= 8 has at least one row.
  bool within(const Dim& rows, const Symbols& symbols) const;
  /// Returns an element that is certainly outside a table of `rows` rows.
  std::optional<int64_t> surely_outside(const Dim& rows) const;
};

/// Ranges of integers and flags: through constants, iota, inputs with bounds, views, conversions, arithmetic,
/// look-ups in constant tables, inserts, reductions and bodies of fusions. A branch of a select is evaluated
/// under its condition or its negation. Arithmetic that may leave 32 bits has an unknown result. Floats have
/// a range if they are computed from constants and integers, with a margin for rounding to any type; a
/// possible infinity or NaN makes it unknown.
class IndexRanges {
 public:
  explicit IndexRanges(const Graph& graph);
  /// Finds the ranges in a fusion's body, given those around it.
  IndexRanges(const Node& fusion, const IndexRanges& around);
  /// Returns the range of the value; the whole range of the element type if it is unknown.
  IndexRange at(const Value* value) const;

 private:
  /// Integers have the first range, floats may have the second.
  struct Known {
    std::optional<IndexRange> integers;
    std::optional<RealRange> reals;
  };
  using Narrowed = llvm::DenseMap<const Value*, IndexRange>;

  void find();
  void find_results(const Node& fusion);
  Known find(const Value& value);
  Known known(const Value& value) const;
  void know(const Value& value, const Known& found);

  std::optional<IndexRange> of(const Value& value);
  IndexRange some_of(const Node& node, unsigned other) const;
  static std::optional<IndexRange> of_constant(const Node& node);
  std::optional<IndexRange> of_input(const Node& node) const;
  std::optional<IndexRange> of_iota(const Value& value) const;
  std::optional<IndexRange> of_pointwise(const Node& node);
  std::optional<IndexRange> of_select(const Node& node);
  std::optional<IndexRange> of_top_k(const Node& node) const;
  std::optional<IndexRange> of_sample(const Node& node) const;
  std::optional<IndexRange> of_reduce(const Node& node, unsigned result) const;

  std::optional<RealRange> reals(const Value* value) const;
  std::optional<RealRange> of_reals(const Value& value);
  std::optional<RealRange> converted(const Value& value) const;
  std::optional<RealRange> pointwise_reals(const Node& node) const;
  std::optional<RealRange> selected_reals(const Node& node);

  // ---- branches of a select (select_ranges.cpp)
  std::optional<Known> chosen(const Node& select, unsigned operand);
  bool narrow(Narrowed& narrowed, const Value* condition, bool holds) const;
  IndexRange now(const Narrowed& narrowed, const Value* value) const;
  Known found_again(const Value& value, const Narrowed& narrowed);

  const Graph& graph_;
  llvm::DenseMap<const Value*, IndexRange> ranges_;
  llvm::DenseMap<const Value*, RealRange> reals_;
  int selects_around_ = 0;
};

}  // namespace smelt
