// Runs of letters of a matmul that are traversed like one dim, and the choice of the runs that become the
// dims of its matrices.
#pragma once

#include <vector>

#include "runtime/base/dim.h"

namespace smelt {

/// Letters that are traversed like one: the extent of their product and the innermost stride in each matrix.
struct MatmulRun {
  Dim extent;
  Dim a, b, c;
};

/// Returns the runs without those of extent 1, and with any two joined if in all matrices the outer stride is
/// the inner stride times the inner extent.
std::vector<MatmulRun> joined(std::vector<MatmulRun> runs);

/// One run of each kind, and the other runs of all kinds.
struct MatrixDims {
  MatmulRun m, n, k;
  std::vector<MatmulRun> repeated, summed;  // with other rows or columns; with other parts of the sum
};

/// Every choice of one run of each kind: first those that leave the fewest sums to be added up, of these the
/// ones that leave the fewest products, then the last runs of their kinds.
std::vector<MatrixDims> matrix_dims(const std::vector<MatmulRun>& m, const std::vector<MatmulRun>& n,
                                    const std::vector<MatmulRun>& k, const Symbols& symbols);

}  // namespace smelt
