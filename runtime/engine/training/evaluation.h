// Evaluation of a model on a list of batches: the loss and, for classifiers, the accuracy.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/engine/data/batches.h"
#include "runtime/session/session.h"

namespace smelt {

struct EvaluationSums {
  double loss_sum = 0, targets = 0;     // sum in nats; number of targets whose loss is in the sum
  int64_t classified = 0, correct = 0;  // records; those among them whose most probable class is the label

  double loss() const { return loss_sum / targets; }  // nats per target
  /// Returns correct / classified; nothing if no record was classified.
  std::optional<double> accuracy() const {
    return classified > 0 ? std::optional(static_cast<double>(correct) / static_cast<double>(classified))
                          : std::nullopt;
  }
};

/// The batches that a rank evaluates: numbers `first`, `first` + `stride`, `first` + 2 * `stride`, ...
struct BatchShare {
  int64_t first = 0, stride = 1;
  /// Whether a run exchanges data between the ranks, so that all ranks must run the same number of batches.
  /// A rank that has no batch left then runs a batch whose results are ignored.
  bool together = false;
};

/// Function that evaluates a batch and returns the outputs `loss_sum` and `token_count`. It returns an empty
/// list if another stage of a pipeline has the outputs.
using RunEvaluation = std::function<std::vector<HostTensor>(const Batch& batch)>;

/// Evaluates the batches of `share`, and returns the sums over them. Each batch is run by `run`, or by the
/// entry `evaluate` if `run` is empty. `classified` and `correct` are counted if the plan has an entry
/// `logits` with an output [records, classes], and the batch has one i32 label per record. `before_batch`,
/// if not empty, is called before each batch.
EvaluationSums evaluate_batches(Session& session, BatchList& batches, const BatchShare& share = {},
                                const std::function<void()>& before_batch = {},
                                const RunEvaluation& run = {});

}  // namespace smelt
