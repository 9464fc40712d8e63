// How much work the matrix products of an entry are: the model FLOP of the reports of training.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// Floating-point operations of the entry's gemm steps at these sizes, a multiplication and an addition as
/// two. For a training step that is forward and backward of the model: nothing that is computed again to save
/// memory (Step::recomputed), and no element-wise work. What a mask hides counts.
double matrix_flops(const PlanEntry& entry, const SymbolValues& sizes);

}  // namespace smelt
