// Dims of an operation: the correspondence between the dims of its operands and those of its results, for all
// passes that follow a dim through a graph.
//
// A factor runs through dims of operands and results. A dim is one factor, but for those of a reshape and the
// heads of an attention, which may be products of several.
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

/// Relation between the elements of operands and results along a factor. Each relation allows what those
/// before it allow.
enum class DimRelation : uint8_t {
  /// Element i of a result depends on elements i of the operands; a factor of results alone repeats elements.
  carried,
  /// As carried, but element i also depends on the number i: iota, random numbers, tables.
  counted,
  /// As carried in results that have the factor. The others are sums over i of terms of elements i, and of
  /// operands without the factor.
  summed,
  /// As carried in results that have the factor. The others depend on all elements.
  reduced,
  /// Another operand is the index of the element that is read.
  looked_up,
  /// Elements have other positions in the result, by an offset or an index.
  placed,
  /// Every element of a result may depend on every element.
  whole,
};

struct DimFactor {
  DimRelation relation = DimRelation::carried;
  Dim size;  // in the first operand that has it; placed and whole dims may have other sizes
};

/// Per dim of a value its factors, outermost first; at least one.
using DimFactors = llvm::SmallVector<llvm::SmallVector<int, 2>, 4>;

struct OpDims {
  std::vector<DimFactor> factors;
  llvm::SmallVector<DimFactors, 3> operands;
  llvm::SmallVector<DimFactors, 1> results;
  llvm::SmallVector<DimFactors, 2> handed;  // of the values that the operation passes to its body

  DimFactor& operator[](int factor) { return factors[static_cast<size_t>(factor)]; }
  const DimFactor& operator[](int factor) const { return factors[static_cast<size_t>(factor)]; }
};

/// Returns the dims of a node, by the table in op_dims.cpp. Dims of arguments and results of a body, which
/// only the body's nodes relate, are whole.
OpDims op_dims(const Node& node);

}  // namespace smelt
