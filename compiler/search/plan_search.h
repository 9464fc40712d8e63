// plan_search: finds the configuration in which a number of ranks train a model in the least predicted time
// within the available memory. A configuration consists of a mesh with the axes data, model and stage; the
// level of ZeRO (0 to 3); whether sequences are sharded; the number of model parts (virtual stages) per
// pipeline stage; the number of micro-batches; and the level of recomputation.
//
// The search compiles some candidates to a Program, or to one Program per pipeline stage. The memory of a
// compiled candidate is exact; its time is predicted (plan_time.h, stage_cost.h). The search first compiles
// one candidate for each mesh without stages, and computes from the results lower bounds for the time of all
// other candidates (least_time.h). It then compiles the others in the order of their bounds, until a bound
// exceeds the time of the best candidate that fits. More micro-batches, and more recomputation, save memory
// and cost time. So a candidate with more of either is compiled only if the same candidate with fewer
// micro-batches or less recomputation does not fit in memory.
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
  /// All candidates have the same number of records per update: the bound of the symbol B (records per
  /// micro-batch) in the compile options, times `micro_batches`, times `ranks`.
  int64_t micro_batches = 1;
  std::optional<int64_t> budget;  // bytes on each rank; empty: every plan fits
  std::string no_stages = {};     // the reason why the caller cannot run pipeline stages; empty: it can
  int threads = 0;                // threads that compile; 0: one per processor, at most 8
};

/// One candidate that the search compiled, or tried to compile.
struct SearchedPlan {
  PlanCandidate candidate;
  /// The reason why the candidate cannot be compiled or used; empty: `cost` and `fits` are known.
  std::string problem;
  PlanCost cost = {};
  bool fits = true;  // the memory is within PlanSearchOptions::budget
};

/// The result of a search.
struct PlanSearch {
  /// First the plans that fit, in the order of their times, then those that do not fit, in the order of their
  /// memory, then those with a problem.
  std::vector<SearchedPlan> plans;
  int64_t left_out = 0;    // number of candidates that were not compiled, because they cannot be faster
  int64_t records = 0;     // records (sequences) per update, of all ranks together
  int64_t base_batch = 1;  // the bound of B in the compile options
  double seconds = 0;      // duration of the search

  /// Returns the fastest plan that fits. If none fits, throws Error with the least memory of a plan.
  /// `budget`: the budget of the search, which is only used in the message.
  const SearchedPlan& best(std::optional<int64_t> budget) const;
};

/// Searches. `base`: options for training, without a mesh. Their bound of B is the number of records per
/// micro-batch that each rank would have if all ranks were along the axis `data`. If base.entries is empty,
/// the memory includes that of evaluation and of the model's other entries. Throws Error if the model has no
/// symbol B, or if `base` replaces the pass pipeline.
PlanSearch search_plans(const Description& description, const CompileOptions& base, const MachineRates& rates,
                        const PlanSearchOptions& options);

}  // namespace smelt
