// Ranges of the integer and boolean values of a graph. The range of a value is computed from the ranges of
// its operands. Passes use the ranges to prove that indices are within their tables.
#pragma once

#include <optional>

#include "ir/analysis/real_range.h"
#include "ir/graph/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// Range of the elements of a value: every element is in [least, most] or equals `beside`.
struct IndexRange {
  int64_t least = 0, most = 0;
  std::optional<int64_t> beside = {};  // one number outside the range, such as -100; nothing: none
  std::optional<Dim> below = {};       // every element other than `beside` is below this size
  bool attained = false;               // it is proven that some element is `least` and some element is `most`

  /// Returns whether every element is certainly in [0, rows).
  bool within(const Dim& rows) const;
  /// Returns the same, but also uses the bounds of symbolic sizes such as B: if B <= 8, a table of 9 - B rows
  /// has at least one row.
  bool within(const Dim& rows, const Symbols& symbols) const;
  /// Returns `least` or `most`, for a message, if it is outside [0, rows) and it is proven that an element is
  /// outside too; else nothing. If `rows` is not constant, only negative numbers and those from 2^31 - 1 on
  /// are treated as outside.
  std::optional<int64_t> surely_outside(const Dim& rows) const;
};

/// Ranges of the values of a graph. Ranges are propagated through constants, iota, inputs with declared
/// bounds, views, conversions, arithmetic, look-ups in constant tables, inserts, reductions and bodies of
/// fusions. In the first branch of a select, the ranges of the values that the condition compares are
/// narrowed, because the condition is true there. In the second branch, the condition is false. The result of
/// arithmetic that may wrap around is unknown. Floats have a range (RealRange) if they are computed from
/// constants and integers. A RealRange has a margin for rounding to any float type. The range of a float is
/// unknown if an element may be infinite or NaN.
class IndexRanges {
 public:
  explicit IndexRanges(const Graph& graph);
  /// Finds the ranges in the body of `fusion`, given the ranges `around` of the graph that contains the
  /// fusion.
  IndexRanges(const Node& fusion, const IndexRanges& around);
  /// Returns the range of an integer or boolean value; if it is unknown, all numbers of 32 bits (of 64 for
  /// i64, 0 and 1 for booleans).
  IndexRange at(const Value* value) const;

 private:
  /// Range of one value: `integers` of an integer or boolean, `reals` of a float; absent: unknown.
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
  /// Returns the range of a result whose elements are elements of operand 0 or of operand `other`.
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
  /// Returns the range of those elements of operand number `operand` that the select chooses; nothing if it
  /// never chooses an element of this operand.
  std::optional<Known> chosen(const Node& select, unsigned operand);
  /// Narrows the ranges of the integers that `condition` compares, given that the condition is true (or
  /// false, if `holds` is false). Returns false if this case never occurs.
  bool narrow(Narrowed& narrowed, const Value* condition, bool holds) const;
  /// Returns the range in `narrowed`, else at(value).
  IndexRange now(const Narrowed& narrowed, const Value* value) const;
  /// Returns the range of `value` that follows from the narrowed ranges of other values.
  Known found_again(const Value& value, const Narrowed& narrowed);

  const Graph& graph_;
  llvm::DenseMap<const Value*, IndexRange> ranges_;
  llvm::DenseMap<const Value*, RealRange> reals_;
  int selects_around_ = 0;  // depth of nested selects whose branches are being evaluated
};

}  // namespace smelt
