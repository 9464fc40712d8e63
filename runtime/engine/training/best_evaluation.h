// The evaluation with the best value of a metric, for early stopping and the best checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/engine/training/metrics.h"

namespace smelt {

class BestEvaluation {
 public:
  /// `metric`: "loss" or the name of a Metric. Losses and perplexities are better if they are lower, all
  /// others if they are higher.
  explicit BestEvaluation(std::string metric = "loss") : metric_(std::move(metric)) {}

  /// Compares an evaluation with the best one. Returns whether it is better, which then is the best one; a
  /// value that is not finite is not better. The evaluation before the first step is not compared. Throws
  /// Error with the names of the metrics that there are if the record does not have the metric.
  bool add(const EvaluationRecord& record);
  /// Compares an evaluation that an earlier process wrote. One without the metric is not counted.
  void restore(const EvaluationRecord& record);

  const std::string& metric() const { return metric_; }
  int64_t step() const { return step_; }                                // of the best one
  std::optional<double> value() const { return value_; }                // nothing: none was finite
  int64_t without_improvement() const { return without_improvement_; }  // evaluations after the best one

 private:
  std::optional<double> value_of(const EvaluationRecord& record) const;
  bool compare(const EvaluationRecord& record, double value);

  std::string metric_;
  std::optional<double> value_;
  int64_t step_ = 0, without_improvement_ = 0;
};

}  // namespace smelt
