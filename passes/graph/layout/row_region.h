// Row region: a part of a graph that begins with one matmul and can be computed for each row separately.
// Example: the matmul that makes logits, and the loss, forward and backward. Nodes of the region have one of
// these roles:
//
//   seed      the matmul; its result has row dims, such as batch and length, and then column dims, whose
//             extents are constant
//   rowwise   pointwise operations, reductions over all columns, broadcasts of row values along the columns,
//             reshapes of the row dims; a row value has row dims only
//   product   a matmul that keeps the rows of its operand, such as the gradient of the seed's operand
//   sum       a matmul or a reduction that sums over all rows, such as the gradient of a weight or a bias
//
// Values with columns are read by nodes of the region alone, so they need not be in memory for all rows at
// once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

enum class RowRole : uint8_t { seed, rowwise, product, sum };

/// The nodes of one row region, with their roles and the numbers of their row dims.
struct RowRegion {
  struct Member {
    Node* node;
    RowRole role;
  };

  using RowAxes = llvm::DenseMap<const Value*, int64_t>;

  Dim rows;                     // number of rows: the product of the extents of all row dims
  Shape columns;                // column dims of the seed's result
  std::vector<Member> members;  // in program order, the seed first
  RowAxes row_axes;             // for results of seed and rowwise nodes: the number of row dims
  std::vector<Node*> behind;    // nodes outside the region that depend on members, in program order

  /// Returns whether the value is a result of the seed or of a rowwise node.
  bool has(const Value* value) const { return row_axes.contains(value); }
  bool has_columns(const Value* value) const { return has(value) && row_axes.lookup(value) < value->rank(); }
};

/// Returns the region that starts with this matmul. Returns nothing in three cases: the matmul is not of the
/// forward phase; a node outside the region or an output reads a value with columns; no columns are reduced,
/// as in a feed-forward block.
std::optional<RowRegion> find_row_region(const Graph& graph, Node& matmul);

/// Returns the row values of the region that are outputs of the graph or are read by nodes outside the
/// region.
std::vector<Value*> row_outputs(const Graph& graph, const RowRegion& region);

/// Returns the letters that the matmul's spec has for the first `row_axes` dims of `value`, an operand of the
/// matmul.
std::string row_letters(const Node& matmul, const Value* value, int64_t row_axes);
/// Returns the matmul's spec for values whose row dims, with the letters `rows`, are joined into one dim.
/// "btc,oc->bto" with the rows "bt" becomes "tc,oc->to".
std::string flat_spec(const Node& matmul, const std::string& rows);

/// Source of the chunks of a value from outside the region. A chunk is the part of the value for some of the
/// rows; the first dims of the value are row dims.
enum class RowSource : uint8_t {
  computed,   // a pointwise operation or conversion: computed from chunks of its operands
  repeated,   // a constant, or a broadcast along all row dims or all column dims: each chunk has its own
  column,     // an iota along a column dim
  in_memory,  // slices of a value in memory: a row value, an input, a parameter or a state
  none,       // no chunks, because the value can only be computed for all rows (a matmul, random numbers)
};
/// Returns the source of the chunks of a value whose first `row_axes` dims are row dims.
RowSource row_source(const Value* value, int64_t row_axes);

}  // namespace smelt
