// Sums of gradients over the micro-steps of an update, and the entry that applies them.
#pragma once

#include "ir/graph/builder.h"
#include "passes/graph/training/training_entries.h"

namespace smelt {

/// Returns sum / max(count, 1).
Value* mean_loss(GraphBuilder& b, Value* sum, Value* count);

/// Scalars of one micro-step.
struct BatchCounts {
  Value* loss_sum = nullptr;  // null: another stage of a pipeline has it
  Value* token_count = nullptr;
  bool adds_tokens = true;  // else they are added elsewhere
};
/// Adds the outputs "grad.PARAMETER" of all trained parameters to the state "gradients", and the counts to
/// the states of their names. With a loss scale, gradients are those of the scaled mean.
void add_sums(Graph& graph, const BatchCounts& counts, const TrainingOptions& options);

/// Makes the entry @apply of training_entries.h. Stages of a pipeline sum their parts of the loss and of the
/// gradient's norm.
void make_apply(Module& module, const TrainingOptions& options);

}  // namespace smelt
