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

/// Removes runs of extent 1. Then joins two runs into one if, in each of A, B and C, the stride of the outer
/// run is the stride of the inner run times its extent, and repeats this as often as possible.
std::vector<MatmulRun> joined(std::vector<MatmulRun> runs);

/// The dims of a gemm, and the loops around it that compute a whole matmul. `m`, `n` and `k` are one run of
/// each kind. The gemm is repeated for every combination of indices of the remaining runs.
struct MatrixDims {
  MatmulRun m, n, k;
  /// `repeated` has the remaining runs of m and n: each repetition computes other elements of C. `summed` has
  /// the remaining runs of k: each repetition adds to the same elements of C.
  std::vector<MatmulRun> repeated, summed;
};

/// Returns all selections of one run each from the lists m, n and k. For an empty list, the selected run has
/// extent 1. The selections are sorted: those whose `summed` runs have the smallest product of extents come
/// first, and among these, those whose `repeated` runs have the smallest product. Extents are taken at the
/// symbols' bounds.
std::vector<MatrixDims> matrix_dims(const std::vector<MatmulRun>& m, const std::vector<MatmulRun>& n,
                                    const std::vector<MatmulRun>& k, const Symbols& symbols);

}  // namespace smelt
