// The loss over a list of batches and, for models that classify, how often the likeliest class is right.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/engine/data/batches.h"
#include "runtime/session/session.h"

namespace smelt {

struct EvaluationSums {
  double loss_sum = 0, targets = 0;
  int64_t classified = 0, correct = 0;

  double loss() const { return loss_sum / targets; }
  std::optional<double> accuracy() const {
    return classified > 0 ? std::optional(static_cast<double>(correct) / static_cast<double>(classified))
                          : std::nullopt;
  }
};

/// The batches that a rank evaluates: every `stride`-th from number `first` on.
struct BatchShare {
  int64_t first = 0, stride = 1;
  /// All ranks run as many batches, since they exchange something: a rank that has none left runs one that
  /// does not count.
  bool together = false;
};

/// Runs a batch; nothing if another stage of a pipeline has the outputs.
using RunEvaluation = std::function<std::vector<HostTensor>(const Batch& batch)>;

/// Runs the entry `evaluate`, or `run` in its place, and `logits` if there is one label per record and the
/// plan has this entry. `before_batch`: called before each.
EvaluationSums evaluate_batches(Session& session, BatchList& batches, const BatchShare& share = {},
                                const std::function<void()>& before_batch = {},
                                const RunEvaluation& run = {});

}  // namespace smelt
