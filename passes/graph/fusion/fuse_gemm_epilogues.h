// fuse_gemm_epilogues: moves a fusion that reads a matmul's result into the matmul's epilogue, if the
// target's matmul library supports it. This saves one sweep over the result. The epilogue that is supported
// adds a bias to each row (cuBLASLt's EPILOGUE_BIAS).
//
//   %m = matmul %x, %w              %y = matmul %x, %w (%acc, %b = %bias) {
//   %y = fusion (%m, %bias) {         return add %acc, (broadcast %b)
//     return add .. }         =>    }
//
// Runs after assign_precision, because the library adds only a bias of the result's type. A bias of a wider
// type is not rounded to this type, and so is not fused; nor is one of an output whose rows begin at any
// byte. Ensures: values differ only because the matmul's result is no longer rounded before the epilogue.
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
