#include "runtime/engine/training/best_evaluation.h"

#include <cmath>

#include "runtime/base/error.h"

namespace smelt {
namespace {

bool lower_is_better(std::string_view metric) { return metric == "loss" || metric == "perplexity"; }

}  // namespace

double BestEvaluation::value_of(const EvaluationRecord& record) const {
  if (metric_ == "loss") return record.loss;
  if (const auto value = find_metric(record.metrics, metric_)) return *value;
  std::string names = "loss";
  for (const Metric& metric : record.metrics) names += ", " + metric.name;
  fail("--metric {}: the evaluation of this model has no such metric; it has {}", metric_, names);
}

bool BestEvaluation::add(const EvaluationRecord& record) {
  const double value = value_of(record);
  if (record.step == 0) return false;
  const bool better =
      std::isfinite(value) && (!value_ || (lower_is_better(metric_) ? value < *value_ : value > *value_));
  without_improvement_ = better ? 0 : without_improvement_ + 1;
  if (better) value_ = value, step_ = record.step;
  return better;
}

}  // namespace smelt
