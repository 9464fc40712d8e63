// fuse_gemm_epilogues: a kernel that continues from a matmul becomes the matmul's body, where the target's
// library call does the kernel's work while it stores the result: one sweep over the result is saved. Today
// that is a bias (cuBLASLt's EPILOGUE_BIAS).
//
// Runs after assign_precision, since the library adds only a bias of the result's type. A bias that is kept
// wider stays apart: rounded, it would be off by the same amount in every row, which sums over rows, such as
// gradients of biases, do not average out. Contract: values differ by the rounding of the matmul's result,
// which is left out.
#pragma once

#include <string_view>

#include "ir/graph.h"
#include "ir/target.h"

namespace smelt {

struct FuseGemmEpiloguesOptions {
  Target target;
};
bool fuse_gemm_epilogues(Graph& graph, const FuseGemmEpiloguesOptions& options = {});
/// target = "sm_90"
void set_option(FuseGemmEpiloguesOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
