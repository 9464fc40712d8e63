// Factors of an operation. A factor is a size that dims of the operands and results have in common, such as
// m, n or k of a matmul; a dim is a factor or a product of factors (ir/analysis/op_dims.h). To share the work
// of an operation, ranks cut one of its factors: every dim that contains the factor is then cut. The kind of
// the factor defines how the results of the ranks are combined. A factor leads a dim if it is the dim's
// outermost factor whose size is not 1.
//
//   matmul "bc,oc->bo"             b: carried, o: carried, c: summed
//   reshape [B,T,8] -> [B*T,8]     B: carried; T: carried, but never cut, because it does not lead B*T
//   gather (table[v,c], ids[b])    v: looked_up, c: carried, b: carried
#pragma once

#include "ir/analysis/op_dims.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

struct Factor {
  enum class Kind : uint8_t {
    carried,    // each rank computes its part of the results
    summed,     // each rank computes an addend of the results
    joined,     // each rank reduces its part; the results are combined by max, min or max_sumexp
    looked_up,  // rows of a table: indices outside the rank's part contribute nothing
    placed,     // as carried, but results depend on the offset of the rank's part, as those of iota do
    whole,      // never cut: every rank needs all elements along it
  } kind = Kind::carried;
  Dim size;
};

/// Factors of one operation. A factor is represented by its index in `factors`.
struct OpFactors {
  std::vector<Factor> factors;
  llvm::SmallVector<DimFactors, 3> operands;        // per operand and dim, the factors of the dim
  llvm::SmallVector<DimFactors, 1> results;         // the same for results
  llvm::DenseMap<const Value*, DimFactors> inside;  // the same for the values of the node's body

  /// Returns the factor that leads a dim with these factors: the first one whose size is not 1; -1 if there
  /// is none.
  int leading(llvm::ArrayRef<int> dim) const;
  /// Returns whether ranks can cut the factor into `parts` equal parts. It must lead every dim that contains
  /// it, and must not be whole.
  bool can_cut(int factor, int64_t parts) const;
};
/// Returns the factors of a node, and of its body.
OpFactors factors_of(const Node& node);

}  // namespace smelt
