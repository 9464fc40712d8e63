// Factors of the iteration space of an operation, as one table by op. A factor runs through dims of operands
// and results, and can be cut over ranks in all of them at once. Its kind defines how the ranks' results are
// then combined.
//
//   matmul "bc,oc->bo"     b: carried, o: carried, c: summed
//   reshape [B,T,8] -> [B*T,8]     B: carried (leads a dim on both sides), T: carried (does not: never cut)
//   gather (table[v,c], ids[b])    v: looked_up, c: carried, b: carried
#pragma once

#include <vector>

#include "ir/graph/graph.h"
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

/// Per dim of a value its factors, outermost first.
using DimFactors = std::vector<std::vector<int>>;

struct OpFactors {
  std::vector<Factor> factors;
  std::vector<DimFactors> operands, results;
  llvm::DenseMap<const Value*, DimFactors> inside;  // of values of the node's body

  /// Returns the factor that cuts a dim: the first one whose size is not 1; -1: there is none.
  int leading(const std::vector<int>& dim) const;
  /// Returns whether ranks can cut the factor into `parts` parts: it must lead every dim that it is in.
  bool can_cut(int factor, int64_t parts) const;
};
/// Returns the factors of a node; every dim of an operation that is not in the table is whole.
OpFactors factors_of(const Node& node);

}  // namespace smelt
