// Row region: the part of a graph that computes row by row from one matmul on, as a criterion does with its
// logits, forward and backward.
//
//   seed      the matmul: rows (B, T, ...) by columns, whose extents are constants
//   rowwise   pointwise operations, reductions over all columns, broadcasts of row values along the columns,
//             reshapes of the rows
//   product   a matmul that keeps the rows of its operand: the gradient of the seed's operand
//   sum       a matmul or a sum over all rows: the gradient of a weight, of a bias
//
// No other node reads a value with columns, so no such value has to be in memory for all rows at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

enum class RowRole : uint8_t { seed, rowwise, product, sum };

struct RowRegion {
  struct Member {
    Node* node;
    RowRole role;
  };

  using RowAxes = llvm::DenseMap<const Value*, int64_t>;

  Dim rows;                     // the extents of all row dims, multiplied
  Shape columns;                // of the seed's result
  std::vector<Member> members;  // in program order, the seed first
  RowAxes row_axes;             // of the seed's and rowwise values: how many dims lead as rows
  std::vector<Node*> behind;    // other nodes that depend on members, in program order

  bool has(const Value* value) const { return row_axes.contains(value); }
  bool has_columns(const Value* value) const { return has(value) && row_axes.lookup(value) < value->rank(); }
};

/// Returns the region that starts with this matmul of the forward phase. Returns nothing if a node outside
/// the region reads its columns, or if no columns are reduced, as in a feed-forward block.
std::optional<RowRegion> find_row_region(const Graph& graph, Node& matmul);

/// Returns the row values of the region that nodes outside it read.
std::vector<Value*> row_outputs(const Graph& graph, const RowRegion& region);

/// Returns the letters of rows in the spec of a matmul whose operand `value` has `row_axes` row dims.
std::string row_letters(const Node& matmul, const Value* value, int64_t row_axes);
/// Returns the spec with its row letters joined: "btc,oc->bto" with rows "bt" becomes "tc,oc->to".
std::string flat_spec(const Node& matmul, const std::string& rows);

/// Source of a chunk of a value from outside the region whose leading dims are rows.
enum class RowSource : uint8_t {
  computed,   // pointwise, from chunks of its operands
  repeated,   // a constant, or a broadcast of a value with no dims but (some of) the row dims
  column,     // an iota along the columns
  in_memory,  // a slice: a row value, or a value that is in memory anyway
  none,       // it would take memory for all rows: a matmul, random numbers
};
RowSource row_source(const Value* value, int64_t row_axes);

}  // namespace smelt
