// Evaluation of a model on a list of batches: the loss, the perplexity of models that predict tokens, and the
// accuracy and F1 of classifiers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/engine/data/batches.h"
#include "runtime/engine/training/metrics.h"
#include "runtime/engine/training/token_accuracy.h"
#include "runtime/session/session.h"

namespace smelt {

/// Numbers of records: those whose label is a class, those whose most probable class it is, and those with
/// both.
struct ClassCounts {
  int64_t labelled = 0, predicted = 0, correct = 0;
};

struct EvaluationSums {
  double loss_sum = 0, targets = 0;  // sum in nats; number of targets whose loss is in the sum
  bool of_tokens = false;            // each target is the id of a token (see predicts_tokens)
  std::vector<ClassCounts> classes;  // empty if the model does not classify
  TokenCounts tokens;                // empty if they were not asked for

  double loss() const { return loss_sum / targets; }  // nats per target
  int64_t classified() const;                         // records
  int64_t correct() const;                            // records whose most probable class is the label
  /// Returns correct() / classified(); nothing if no record was classified.
  std::optional<double> accuracy() const;
  /// Returns the F1 score: with two classes that of class 1, which is 2 * correct / (labelled + predicted);
  /// with more, the mean of the classes that are the label or the prediction of a record. Returns nothing if
  /// no record was classified.
  std::optional<double> f1() const;
  /// Returns "accuracy" and "f1" of a classifier, or "perplexity", exp(loss()), of a model that predicts
  /// tokens, with "token_accuracy" if tokens were counted.
  Metrics metrics() const;
};

/// Returns whether the loss of the entry `evaluate` is the mean cross entropy of tokens, so that its
/// exponential is a perplexity: if the model has a spec, whether its head is lm or mlm; else whether `labels`
/// are not f32.
bool predicts_tokens(const Plan& plan);

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
/// entry `evaluate` if `run` is empty. Classes are counted if the plan has an entry `logits` with an output
/// [records, classes], and the batch has one i32 label per record. Tokens are counted if `tokens` has a
/// value; see count_tokens. `before_batch`, if not empty, is called before each batch.
EvaluationSums evaluate_batches(Session& session, BatchList& batches, const BatchShare& share = {},
                                const std::function<void()>& before_batch = {}, const RunEvaluation& run = {},
                                std::optional<TokenTargets> tokens = {});

}  // namespace smelt
