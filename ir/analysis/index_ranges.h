// Which numbers the integers of a graph can hold: a range for every value, from the leaves on.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Every element is in [least, most], or is `beside`.
struct IndexRange {
  int64_t least = 0, most = 0;
  std::optional<int64_t> beside = {};  // a number outside the range that an input may hold to be ignored
  std::optional<Dim> below = {};       // all elements of the range are below it, known at launch
  bool attained = false;  // some element is `least` and some element is `most`, whatever the data

  /// Whether every element is a row of a table of `rows` rows.
  bool within(const Dim& rows) const;
  /// The same where the bounds of the symbols may say it: of 9 - B rows with B <= 8 there is one.
  bool within(const Dim& rows, const Symbols& symbols) const;
  /// An element that is certain to be outside of it.
  std::optional<int64_t> surely_outside(const Dim& rows) const;
};

/// Ranges of integers and flags: through constants, iota, inputs with bounds, views, conversions, sums,
/// differences, products, quotients, minima, maxima, selects with their comparisons, look-ups in constant
/// tables, what is put into tables, reductions and bodies of fusions. Arithmetic that may leave 32 bits has
/// an unknown result. Floats have no range.
class IndexRanges {
 public:
  explicit IndexRanges(const Graph& graph);
  /// Of a fusion's body.
  IndexRanges(const Node& fusion, const IndexRanges& around);
  /// The whole range of the element type where nothing is known.
  IndexRange at(const Value* value) const;

 private:
  void find();
  void find_results(const Node& fusion);
  std::optional<IndexRange> of(const Value& value) const;
  IndexRange some_of(const Node& node, unsigned other) const;
  std::optional<IndexRange> of_constant(const Node& node) const;
  std::optional<IndexRange> of_input(const Node& node) const;
  std::optional<IndexRange> of_iota(const Value& value) const;
  std::optional<IndexRange> of_pointwise(const Node& node) const;
  std::optional<IndexRange> of_select(const Node& node) const;
  std::optional<IndexRange> of_top_k(const Node& node) const;
  std::optional<IndexRange> of_sample(const Node& node) const;
  std::optional<IndexRange> of_reduce(const Node& node, unsigned result) const;
  IndexRange where(const Value* value, const Value* condition, bool holds) const;

  const Graph& graph_;
  llvm::DenseMap<const Value*, IndexRange> ranges_;
};

}  // namespace smelt
