// Cost model of one step of a program: its bytes and floating-point operations at the symbols' bounds, and
// its predicted time in seconds.
#pragma once

#include "ir/analysis/node_seconds.h"
#include "ir/program/program.h"

namespace smelt {

/// The work of one step.
struct StepCost {
  int64_t bytes = 0;  // read and written
  double flops = 0;   // floating-point operations; a multiply-add of a matmul counts as two
  /// Returns whether memory traffic limits the step on a CPU. A core does about ten operations in the time in
  /// which it moves one byte from memory.
  bool memory_bound() const { return flops < 10.0 * static_cast<double>(bytes); }
};

StepCost step_cost(const Program& program, const Step& step);

/// Returns the predicted time of one step. The model ignores elementwise operations of kernels, because
/// memory traffic hides them. For a collective, the result is only the time in which this rank's memory
/// reads and writes its bytes; compiler/search/plan_time.h adds the time of the transfer between ranks.
double step_seconds(const Program& program, const Step& step, const Rates& rates);
/// Returns whether the step contains matrix products (matmuls or attention).
bool has_products(const Program& program, const Step& step);
/// Returns the sum of step_seconds over the entry's steps. If work has several variants, only the steps of
/// the first one count. The sum assumes that steps do not overlap.
double predicted_seconds(const Program& program, const PlanEntry& entry, const Rates& rates);
/// Returns the seconds in which matmuls with an inner dimension of 1,024 compute one GiB of results. A
/// recomputation policy with at least this price, in seconds per saved GiB, computes such results again
/// instead of storing them.
double matmul_price(const Rates& rates, DType storage, bool tf32);
/// Returns the floating-point operations of products that the entry computes again (Step::recomputed).
double recomputed_flops(const Program& program, const PlanEntry& entry);

}  // namespace smelt
