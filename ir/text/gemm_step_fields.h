// Fields of a gemm step that its line has in braces, and their keywords: one list for the printer and the
// parser.
#pragma once

#include "runtime/plan/step.h"

namespace smelt {

/// Calls visit(word, member) for each field, in printed order.
template <typename Visit>
void visit_gemm_step_fields(const Visit& visit) {
  visit("m", &GemmStep::m), visit("n", &GemmStep::n), visit("k", &GemmStep::k);
  visit("alpha", &GemmStep::alpha), visit("beta", &GemmStep::beta), visit("bias", &GemmStep::bias);
  visit("tf32", &GemmStep::tf32), visit("result", &GemmStep::result_dtype);
  visit("a_i8", &GemmStep::a_i8), visit("b_i8", &GemmStep::b_i8);
}

template <typename Visit>
void visit_gemm_batch_fields(const Visit& visit) {
  using Batch = GemmStep::Batch;
  visit("extent", &Batch::extent), visit("a", &Batch::a_stride), visit("b", &Batch::b_stride);
  visit("c", &Batch::c_stride), visit("reduced", &Batch::reduced);
}

}  // namespace smelt
