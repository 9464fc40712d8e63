// fuse_gemm_epilogues: where a kernel does nothing but add a bias to a product, the product adds it as it is
// stored, and one sweep over the result is saved (cuBLASLt's EPILOGUE_BIAS).
//
// For targets whose matmul takes a bias; after assign_precision, since the library adds a bias of the
// result's type only. One that is kept wider stays apart: rounded, it would be off by the same amount in
// every row, which sums over rows, such as gradients of biases, do not average out. Contract: values differ
// by the product's rounding that is left out.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct FuseGemmEpiloguesOptions {};
bool fuse_gemm_epilogues(Graph& graph, const FuseGemmEpiloguesOptions& options = {});

}  // namespace smelt
