// Factors of an operation for ranks: those of ir/analysis/op_dims.h, each of which can be cut over ranks in
// all dims that have it at once. Its kind defines how the ranks' results are then combined.
//
//   matmul "bc,oc->bo"     b: carried, o: carried, c: summed
//   reshape [B,T,8] -> [B*T,8]     B: carried (leads a dim on both sides), T: carried (does not: never cut)
//   gather (table[v,c], ids[b])    v: looked_up, c: carried, b: carried
#pragma once

#include "ir/analysis/op_dims.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

struct Factor {
  enum class Kind : uint8_t {
    carried,    // each rank computes its part of the results
    summed,     // each rank computes an addend of the results
    joined,     // as summed, but combined by the node's own reduction
    looked_up,  // rows of a table: indices outside the rank's part contribute nothing
    placed,     // as carried, but the results depend on the offset of the rank's part
    whole,      // every rank needs all of it
  } kind = Kind::carried;
  Dim size;
};

struct OpFactors {
  std::vector<Factor> factors;
  llvm::SmallVector<DimFactors, 3> operands;
  llvm::SmallVector<DimFactors, 1> results;
  llvm::DenseMap<const Value*, DimFactors> inside;  // of values of the node's body

  /// Returns the factor that cuts a dim: the first one whose size is not 1; -1: there is none.
  int leading(llvm::ArrayRef<int> dim) const;
  /// Returns whether ranks can cut the factor into `parts` parts: it must lead every dim that it is in.
  bool can_cut(int factor, int64_t parts) const;
};
/// Returns the factors of a node, and of its body.
OpFactors factors_of(const Node& node);

}  // namespace smelt
