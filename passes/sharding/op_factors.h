// What an operation does with the dims of its operands and results, as one table by op: the factors of its
// iteration space. A factor runs through dims of operands and results, and can be cut over ranks in all of
// them at once; how the ranks' results belong together then depends on its kind.
//
//   matmul "bc,oc->bo"     b: carried, o: carried, c: summed
//   reshape [B,T,8] -> [B*T,8]     B: carried (leads a dim on both sides), T: carried (does not: never cut)
//   gather (table[v,c], ids[b])    v: looked_up, c: carried, b: carried
#pragma once

#include <vector>

#include "ir/graph.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

struct Factor {
  enum class Kind : uint8_t {
    carried,    // each rank computes its part of the results
    summed,     // each rank computes an addend of the results
    joined,     // as summed, by the reduction that the node is
    looked_up,  // rows of a table: indices that are not of the rank's part contribute nothing
    placed,     // as carried, and what a rank computes depends on where its part begins
    whole,      // every rank needs all of it
  } kind = Kind::carried;
  Dim size;
};

/// For each dim of a value its factors, the outermost first.
using DimFactors = std::vector<std::vector<int>>;

struct OpFactors {
  std::vector<Factor> factors;
  std::vector<DimFactors> operands, results;
  llvm::DenseMap<const Value*, DimFactors> inside;  // of values of the node's body

  /// The factor that cuts a dim: the first one that is not of size 1; -1: there is none.
  int leading(const std::vector<int>& dim) const;
  /// Whether ranks can cut the factor into so many parts: it leads every dim that it stands in.
  bool can_cut(int factor, int64_t parts) const;
};
/// Of an operation that is not in the table everything is whole.
OpFactors factors_of(const Node& node);

}  // namespace smelt
