// Sums of gradients over the micro-steps of an update, and the entry that applies them.
#pragma once

#include "ir/builder.h"
#include "passes/training/training_entries.h"

namespace smelt {

/// sum / max(count, 1)
Value* mean_loss(GraphBuilder& b, Value* sum, Value* count);

/// Scalars of one micro-step.
struct BatchCounts {
  Value* loss_sum = nullptr;  // null: another stage of a pipeline has it
  Value* token_count = nullptr;
  bool adds_tokens = true;  // else they are added elsewhere
};
/// The outputs "grad.PARAMETER" of all parameters that are trained are added to the state "gradients", and
/// the counts to those of their names. Where there is a loss scale, gradients are those of the scaled mean.
void add_sums(Graph& graph, const BatchCounts& counts, const TrainingOptions& options);

/// The entry @apply of training_entries.h. Stages of a pipeline add up what each has of the loss and of the
/// gradient's norm.
void make_apply(Module& module, const TrainingOptions& options);

}  // namespace smelt
