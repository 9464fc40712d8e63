// The part of a graph that computes row by row from one matmul on: what a criterion does with its logits,
// forward and backward.
//
//   seed      the matmul: rows (B, T, ...) by columns, whose extents are constants
//   rowwise   pointwise operations, reductions over all columns, broadcasts of row values along the columns,
//             reshapes of the rows
//   product   a matmul that keeps the rows of what it multiplies: the gradient of what the seed read
//   sum       a matmul or a sum over all rows: the gradient of a weight, of a bias
//
// Nobody else reads a value with columns, so none has to be in memory for all rows at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/matmul_spec.h"
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
  std::vector<Node*> behind;    // no members, but they need what members make; in program order

  bool has(const Value* value) const { return row_axes.contains(value); }
  bool has_columns(const Value* value) const { return has(value) && row_axes.lookup(value) < value->rank(); }
};

/// The region that starts with this matmul of the forward phase; nothing where there is none, where somebody
/// else reads its columns, or where no columns are reduced: a feed-forward block is none.
std::optional<RowRegion> find_row_region(const Graph& graph, Node& matmul);

/// Row values of the region that somebody outside of it reads.
std::vector<Value*> row_outputs(const Graph& graph, const RowRegion& region);

/// The letters of rows in the spec of a matmul whose operand `value` has so many row dims.
std::string row_letters(const Node& matmul, const Value* value, int64_t row_axes);
/// "btc,oc->bto" with rows "bt" as "tc,oc->to".
std::string flat_spec(const Node& matmul, const std::string& rows);

/// What a chunk of a value from outside of the region, whose leading dims are rows, is made from.
enum class RowSource : uint8_t {
  computed,   // pointwise, from chunks of its operands
  repeated,   // a constant, or a broadcast of what has no rows or nothing but (some of) the row dims
  column,     // an iota along the columns
  in_memory,  // a slice: a row value, or what is in memory anyway
  none,       // it would take memory for all rows: a matmul, random numbers
};
RowSource row_source(const Value* value, int64_t row_axes);

}  // namespace smelt
