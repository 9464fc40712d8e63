#include "runtime/engine/training/best_evaluation.h"

#include <cmath>

#include "runtime/base/error.h"

namespace smelt {
namespace {

bool lower_is_better(std::string_view metric) { return metric == "loss" || metric == "perplexity"; }

}  // namespace

std::optional<double> BestEvaluation::value_of(const EvaluationRecord& record) const {
  return metric_ == "loss" ? record.loss : find_metric(record.metrics, metric_);
}

bool BestEvaluation::add(const EvaluationRecord& record) {
  if (const auto value = value_of(record)) return compare(record, *value);
  std::string names = "loss";
  for (const Metric& metric : record.metrics) names += ", " + metric.name;
  fail("--metric {}: the evaluation of this model has no such metric; it has {}", metric_, names);
}

void BestEvaluation::restore(const EvaluationRecord& record) {
  if (const auto value = value_of(record)) compare(record, *value);
}

bool BestEvaluation::compare(const EvaluationRecord& record, double value) {
  if (record.step == 0) return false;
  const bool better =
      std::isfinite(value) && (!value_ || (lower_is_better(metric_) ? value < *value_ : value > *value_));
  without_improvement_ = better ? 0 : without_improvement_ + 1;
  if (better) value_ = value, step_ = record.step;
  return better;
}

}  // namespace smelt
