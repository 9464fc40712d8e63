// Fields of a GemmStep that the text form of a program writes in braces, and their keywords. The printer and
// the parser use the same lists.
#pragma once

#include "runtime/plan/step.h"

namespace smelt {

/// Calls visit(keyword, pointer to member) for each field, in printed order.
template <typename Visit>
void visit_gemm_step_fields(const Visit& visit) {
  visit("m", &GemmStep::m), visit("n", &GemmStep::n), visit("k", &GemmStep::k);
  visit("alpha", &GemmStep::alpha), visit("beta", &GemmStep::beta), visit("bias", &GemmStep::bias);
  visit("tf32", &GemmStep::tf32), visit("result", &GemmStep::result_dtype);
  visit("a_i8", &GemmStep::a_i8), visit("b_i8", &GemmStep::b_i8);
  visit("in_order", &GemmStep::in_order), visit("padded", &GemmStep::padded);
  visit("a_scale", &GemmStep::a_scale), visit("b_scale", &GemmStep::b_scale);
}

/// Calls visit(keyword, pointer to member) for each field of a batch dim, in printed order.
template <typename Visit>
void visit_gemm_batch_fields(const Visit& visit) {
  using Batch = GemmStep::Batch;
  visit("extent", &Batch::extent), visit("a", &Batch::a_stride), visit("b", &Batch::b_stride);
  visit("c", &Batch::c_stride), visit("reduced", &Batch::reduced);
}

}  // namespace smelt
