// The bytes and operations of one step of a program at the symbols' bounds, and the time that they are
// predicted to take.
#pragma once

#include "ir/analysis/node_seconds.h"
#include "ir/program/program.h"

namespace smelt {

struct StepCost {
  int64_t bytes = 0;
  double flops = 0;
  /// A core does about ten operations in the time that it moves one byte from memory.
  bool memory_bound() const { return flops < 10.0 * static_cast<double>(bytes); }
};

StepCost step_cost(const Program& program, const Step& step);

/// Returns the predicted time of one step; for a collective only the time of its bytes in this rank's memory
/// (compiler/search/plan_time.h).
double step_seconds(const Program& program, const Step& step, const Rates& rates);
/// Returns whether the step contains products of matrices.
bool has_products(const Program& program, const Step& step);
/// Returns the sum over the entry's steps, with the first variant of each choice: steps do not overlap, and a
/// kernel's operations on elements are hidden by its memory traffic.
double predicted_seconds(const Program& program, const PlanEntry& entry, const Rates& rates);
/// Returns the seconds that a GiB of results of matmuls over 1,024 elements takes to compute: the price of a
/// GiB at which such a matmul is just worth computing again.
double matmul_price(const Rates& rates, DType storage, bool tf32);
/// Floating-point operations of products that the entry computes again (Step::recomputed).
double recomputed_flops(const Program& program, const PlanEntry& entry);

}  // namespace smelt
