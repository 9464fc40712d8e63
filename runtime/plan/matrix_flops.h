// Work of the matrix products of an entry: the model FLOP in training reports.
#pragma once

#include "runtime/plan/plan.h"

namespace smelt {

/// Floating-point operations of the entry's gemm steps at these sizes, a multiplication and an addition as
/// two. For a training step these are the products of forward and backward, without those that are recomputed
/// to save memory (Step::recomputed) and without element-wise work. Masked scores are counted.
double matrix_flops(const PlanEntry& entry, const SymbolValues& sizes);

}  // namespace smelt
