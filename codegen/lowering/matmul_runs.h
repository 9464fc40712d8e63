// Letters of a matmul that are walked together, and which of them become the dims of its matrices.
#pragma once

#include <vector>

#include "runtime/dim.h"

namespace smelt {

/// Some letters walked together: the extent of their product and the innermost stride in each matrix.
struct MatmulRun {
  Dim extent;
  Dim a, b, c;
};

/// Without runs of one, and any two joined where one steps on in all matrices where the other ends.
std::vector<MatmulRun> joined(std::vector<MatmulRun> runs);

/// A run of each kind, and the rest of all kinds.
struct MatrixDims {
  MatmulRun m, n, k;
  std::vector<MatmulRun> repeated, summed;  // with other rows or columns; with other parts of the sum
};

/// Every choice of one run of each kind: first those that leave the fewest sums to be added up, of these the
/// ones that leave the fewest products, then the last runs of their kinds.
std::vector<MatrixDims> matrix_dims(const std::vector<MatmulRun>& m, const std::vector<MatmulRun>& n,
                                    const std::vector<MatmulRun>& k, const Symbols& symbols);

}  // namespace smelt
