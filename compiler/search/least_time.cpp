#include "compiler/search/least_time.h"

#include <algorithm>
#include <utility>

#include "compiler/driver/step_cost.h"
#include "runtime/plan/choices.h"

namespace smelt {
namespace {

/// An update reads states and writes them.
double update_seconds(const Program& program, const Rates& rates) {
  double bytes = 0;
  for (const State& state : program.states)
    bytes += static_cast<double>(bytes_at_bounds(program.symbols, element_count(state.shape), state.dtype));
  return 2 * bytes / rates.bytes_per_second;
}

Symbols with_records(const Symbols& symbols, int64_t from, int64_t to) {
  Symbols changed;
  for (const Symbols::Bound& bound : with_batch(symbols.bounds(), from, to))
    changed.bound(bound.factors, bound.upper, bound.lower);
  return changed;
}

}  // namespace

LeastTime::LeastTime(Program program, int64_t records, const Rates& rates)
    : program_(std::move(program)),
      symbols_(program_.symbols),
      records_(records),
      rates_(rates),
      update_(update_seconds(program_, rates)) {}

const LeastTime::Work& LeastTime::work_of(int64_t records) {
  const auto [place, is_new] = of_records_.try_emplace(records);
  Work& work = place->second;
  if (!is_new) return work;
  program_.symbols = with_records(symbols_, records_, records);
  for (const Step& step : program_.entries.front().steps) {
    if (!is_first_way(step) || std::holds_alternative<CollectiveStep>(step.what)) continue;
    (has_products(program_, step) ? work.products : work.others) += step_seconds(program_, step, rates_);
  }
  return work;
}

double LeastTime::of(const PlanCandidate& candidate) {
  const Work& work = work_of(candidate.batch);
  const auto shares = static_cast<double>(candidate.sequence_parallel ? candidate.ranks("model") : 1);
  const double seconds = work.products + std::max(0.0, work.others - update_) / shares;
  const auto stages = static_cast<double>(candidate.stages());
  const double idle = (stages - 1) / static_cast<double>(candidate.parts_a_stage);
  return seconds / stages * (static_cast<double>(candidate.micro_batches) + idle);
}

}  // namespace smelt
