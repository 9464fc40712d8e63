// Correspondence between the dims of an operation's operands and the dims of its results, for passes that
// follow a dim through a graph.
//
// Each dim is a product of factors; most dims have one factor, which is the dim itself. Dims of operands and
// results that have the same factor correspond to each other. A dim of a reshape, or the heads of an
// attention, may have several factors. A factor has a relation (DimRelation). Examples of nodes and of the
// relations of their factors:
//
//   matmul "bc,oc->bo"             b: carried, o: carried, c: summed
//   reshape [B,T,8] -> [B*T,8]     B, T, 8: carried; dim 0 of the result has the factors B and T
//   gather (table[v,c], ids[b])    v: looked_up, c: carried, b: carried
//   concat [B,3], [B,5]            B: carried, the axis: placed
//   softmax [B,8]                  B: carried, 8: whole
#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// The relation of a factor specifies, along this factor, the elements of operands on which an element of a
/// result may depend. Each relation also permits all dependences that the relations before it permit.
enum class DimRelation : uint8_t {
  /// Element i of a result depends only on elements i of the operands. If no operand has the factor,
  /// the result repeats the same elements along it.
  carried,
  /// As carried, but the value of element i may also depend on the number i. Examples are iota, random
  /// numbers and constant tables.
  counted,
  /// As carried in results that have the factor. Other results are sums over i of terms that depend
  /// on elements i, and on operands without the factor.
  summed,
  /// As carried in results that have the factor. Other results depend on all elements along the factor.
  reduced,
  /// An operand is read at an index that another operand gives.
  looked_up,
  /// Elements move to other positions in the result, by an offset or an index.
  placed,
  /// Every element of a result may depend on every element along the factor.
  whole,
};

/// One factor of a node's dims.
struct DimFactor {
  DimRelation relation = DimRelation::carried;
  Dim size;  // size in the first operand that has the factor; others may differ if placed or whole
};

/// For each dim of a value: its factors (indices into OpDims::factors), outermost first; at least one.
using DimFactors = llvm::SmallVector<llvm::SmallVector<int, 2>, 4>;

/// Factors of all dims of one node.
struct OpDims {
  std::vector<DimFactor> factors;
  llvm::SmallVector<DimFactors, 3> operands;  // for each operand, the factors of its dims
  llvm::SmallVector<DimFactors, 1> results;   // for each result
  llvm::SmallVector<DimFactors, 2> handed;  // for each block argument, which the operation passes to its body

  DimFactor& operator[](int factor) { return factors[static_cast<size_t>(factor)]; }
  const DimFactor& operator[](int factor) const { return factors[static_cast<size_t>(factor)]; }
};

/// Returns the factors of a node's dims, by the rule for its operation in op_dims.cpp. The dims of the body's
/// arguments, and of results that the body returns, are whole here, because their relation depends on the
/// nodes of the body.
OpDims op_dims(const Node& node);

}  // namespace smelt
