// EvaluationFlags: metrics of evaluations that need more than the loss, on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/prompt_text.h"
#include "runtime/engine/data/batches.h"
#include "runtime/engine/training/metrics.h"
#include "runtime/engine/training/token_accuracy.h"

namespace smelt::cli {

struct EvaluationFlags {
  bool token_accuracy = false;
  int64_t translations = 0;  // pairs that are translated per evaluation; 0: none

  void add_to(CLI::App& command);
  /// Returns whether a metric needs the plan's entry `logits`.
  bool needs_logits() const { return token_accuracy || translations > 0; }
  /// Returns the argument of evaluate_batches; nothing if the metric was not asked for. `packs`: whether rows
  /// have several documents. Throws Error if the model or the data do not have the metric.
  std::optional<TokenTargets> token_targets(const Model& model, const Session& session, bool packs) const;
};

/// BLEU of the translations of a model with an encoder, by its generation_config.json without sampling.
class TranslationScore {
 public:
  /// Takes at most `count` pairs, spread evenly over `pairs`. The references must outlive the object. Throws
  /// Error if the model has no encoder or no tokenizer, or if the data are no pairs.
  TranslationScore(Session& session, const Model& model, const DataPart& pairs, int64_t count);
  /// Translates the sources and compares with the targets. Returns the metric "bleu", from 0 to 100.
  Metric score() const;

 private:
  Session& session_;
  PromptText texts_;
  GenerationOptions options_;
  std::vector<Generator::Tokens> sources_;
  std::vector<std::string> references_;
};

}  // namespace smelt::cli
