// The dims m, n and k of a gemm step for a matmul that is given by letters, as in an einsum ("btk,kn->btn").
// A run is a list of letters of one kind (m, n, k or batch) that can be traversed like one dim.
#pragma once

#include <vector>

#include "runtime/base/dim.h"

namespace smelt {

/// Letters that are traversed like one dim.
struct MatmulRun {
  Dim extent;   // product of the letters' extents
  Dim a, b, c;  // stride of the innermost letter in A, B and C; 0 if the matrix does not have the letters
};

/// Removes runs of extent 1, and joins pairs of runs while there is a pair whose outer stride is the inner
/// stride times the inner extent in A, B and C.
std::vector<MatmulRun> joined(std::vector<MatmulRun> runs);

/// The runs of a matmul, divided into one run each for m, n and k, which together are one product of
/// matrices, and the remaining runs.
struct MatrixDims {
  MatmulRun m, n, k;
  /// Remaining runs. Those of m and n (`repeated`) repeat the product for other rows or columns of C. Those
  /// of k (`summed`) repeat it with results that are added up.
  std::vector<MatmulRun> repeated, summed;
};

/// Returns every selection of one run of each of m, n and k. If a list is empty, its run has extent 1. The
/// selections are in ascending order of the number of results to add up (the product of the extents of
/// `summed`), then of the number of repetitions (the product for `repeated`), both at the symbols' bounds.
/// Selections that are equal in both numbers are in the order of their runs of m, then of n, then of k, the
/// last run of each list first.
std::vector<MatrixDims> matrix_dims(const std::vector<MatmulRun>& m, const std::vector<MatmulRun>& n,
                                    const std::vector<MatmulRun>& k, const Symbols& symbols);

}  // namespace smelt
