// plan_search: finds the mesh of data, model and stages, the stage of ZeRO, the number of micro-batches and
// the level of recomputation that train a model on a number of ranks in the least predicted time, within the
// available memory.
//
// Every visited candidate is compiled to a Program, with stages to one per stage, so its memory is exact; its
// time is predicted (plan_time.h, stage_cost.h). Few are compiled. The search first compiles each mesh of
// data and model alone. These give a lower bound for all other candidates (least_time.h), which are compiled
// in the order of their bounds, up to the best candidate's time. Micro-batches and recomputation save memory
// and cost time: a candidate with more of them is compiled only where one with less does not fit, and the
// time of that one is then a lower bound.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/search/machine_rates.h"
#include "compiler/search/plan_candidates.h"
#include "compiler/search/plan_cost.h"

namespace smelt {

struct PlanSearchOptions {
  int64_t ranks = 1;
  /// An update has the records that all ranks along `data` would have with the options' own bound of B and so
  /// many micro-batches; every candidate keeps that number.
  int64_t micro_batches = 1;
  std::optional<int64_t> budget;  // bytes of states and arena on each rank
  std::string no_stages = {};     // why the caller cannot run stages of a pipeline; empty: it can
  int threads = 0;                // that compile; 0: the processors of this process, at most 8
};

struct SearchedPlan {
  PlanCandidate candidate;
  std::string problem;  // of what cannot be compiled, or is not offered; empty: the rest is known
  PlanCost cost = {};
  bool fits = true;
};

struct PlanSearch {
  /// The plans that fit, by time, then those that do not, by memory, then those that cannot be compiled.
  std::vector<SearchedPlan> plans;
  int64_t left_out = 0;    // candidates that were not compiled, since they cannot be faster
  int64_t records = 0;     // of an update
  int64_t base_batch = 1;  // the bound of B that the options had
  double seconds = 0;      // that the search took

  /// Returns the first plan. Throws Error with the least memory of a plan, where none fits.
  const SearchedPlan& best(std::optional<int64_t> budget) const;
};

/// `base`: as for all ranks along `data`, without a mesh; it has no pipeline of its own. Where it names no
/// entries, those of evaluation count for the memory, too. Throws Error where the model has no batch to share
/// out.
PlanSearch search_plans(const Description& description, const CompileOptions& base, const MachineRates& rates,
                        const PlanSearchOptions& options);

}  // namespace smelt
