// fuse_gemm_epilogues: moves a kernel that reads a matmul's result into the matmul's epilogue, if the
// target's library supports it. This saves one sweep over the result. Bias epilogues are supported today
// (cuBLASLt's EPILOGUE_BIAS).
//
//   %m = matmul %x, %w              %y = matmul %x, %w (%acc, %b = %bias) {
//   %y = fusion (%m, %bias) {         return add %acc, (broadcast %b)
//     return add .. }         =>    }
//
// Runs after assign_precision, because the library adds only a bias of the result's type. A wider bias stays
// separate: its rounding would be the same error in every row, which sums over rows, such as gradients of
// biases, do not average out. Ensures: values differ only by the rounding of the matmul's result, which is
// omitted.
#pragma once

#include <string_view>

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "ir/target.h"

namespace smelt {

struct FuseGemmEpiloguesOptions {
  Target target;
};
template <typename Field>
void visit_options(Field& field, FuseGemmEpiloguesOptions& o) {
  field("target", o.target);
}
bool fuse_gemm_epilogues(Graph& graph, const FuseGemmEpiloguesOptions& options = {});

}  // namespace smelt
