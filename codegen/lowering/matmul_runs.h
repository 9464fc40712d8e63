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

/// The runs of a matmul, divided into two groups: one run each for m, n and k, which together are one product
/// of matrices, and the remaining runs, which repeat this product.
struct MatrixDims {
  MatmulRun m, n, k;
  /// The remaining runs. The runs of m and n, in `repeated`, repeat the product for other rows or columns of
  /// C. The runs of k, in `summed`, repeat it for the same elements of C, and the results are added up.
  std::vector<MatmulRun> repeated, summed;
};

/// Returns all selections of one run each from the lists m, n and k. For an empty list, the selected run has
/// extent 1. The selections are sorted in ascending order by two numbers at the symbols' bounds: first by the
/// number of results that are added up, the product of the extents of `summed`; then by the number of
/// repetitions, the product of the extents of `repeated`. If both numbers are equal, the selections are
/// sorted by the selected run of m, then of n, then of k, where a later run of a list comes first.
std::vector<MatrixDims> matrix_dims(const std::vector<MatmulRun>& m, const std::vector<MatmulRun>& n,
                                    const std::vector<MatmulRun>& k, const Symbols& symbols);

}  // namespace smelt
