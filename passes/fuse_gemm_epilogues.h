// fuse_gemm_epilogues: where a kernel does nothing but add a bias to a product, the product adds it as it is
// stored, and one sweep over the result is saved (cuBLASLt's EPILOGUE_BIAS).
//
// For targets whose matmul takes a bias; after assign_precision, since that bias has the result's type: of a
// parameter its rounded copy is read. Contract: values differ by that rounding alone, and by the product's
// that is left out.
#pragma once

#include "ir/graph.h"

namespace smelt {

struct FuseGemmEpiloguesOptions {};
bool fuse_gemm_epilogues(Graph& graph, const FuseGemmEpiloguesOptions& options = {});

}  // namespace smelt
