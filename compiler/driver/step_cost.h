// Cost model of one step of a program: its bytes and floating-point operations at the symbols' bounds, and
// its predicted time in seconds.
#pragma once

#include "ir/analysis/node_seconds.h"
#include "ir/program/program.h"

namespace smelt {

/// The work of one step.
struct StepCost {
  int64_t bytes = 0;  // bytes of memory that the step reads and writes
  double flops = 0;   // floating-point operations; a multiply-add of a matmul counts as two
  /// Returns whether memory traffic, not arithmetic, limits the speed of the step on a CPU. A core is assumed
  /// to do ten operations in the time in which it moves one byte.
  bool memory_bound() const { return flops < 10.0 * static_cast<double>(bytes); }
};

StepCost step_cost(const Program& program, const Step& step);

/// Returns the predicted time of one step. The time of elementwise operations is not counted, because they
/// run while memory is read and written. For a collective, the result is only the time of this rank's reads
/// and writes of its own memory; compiler/search/plan_time.h adds the time of the transfer between ranks.
double step_seconds(const Program& program, const Step& step, const Rates& rates);
/// Returns whether the step contains matrix products (matmuls or attention).
bool has_products(const Program& program, const Step& step);
/// Returns the sum of step_seconds over the entry's steps. If the plan has several variants of a part of the
/// work, only the steps of the first variant are counted. The sum assumes that steps do not overlap.
double predicted_seconds(const Program& program, const PlanEntry& entry, const Rates& rates);
/// Returns the predicted seconds for computing one GiB of results of matmuls that sum over 1,024 elements. A
/// recomputation policy has a price: the most seconds of computation per saved GiB. A policy whose price is
/// at least the returned one recomputes the results of such matmuls.
double matmul_price(const Rates& rates, DType storage, bool tf32);
/// Returns the number of floating-point operations in matrix products of the entry that repeat earlier ones,
/// to save memory (Step::recomputed).
double recomputed_flops(const Program& program, const PlanEntry& entry);

}  // namespace smelt
