// Sums of gradients over the micro-steps of an update (gradient accumulation), and the entry that applies
// them.
#pragma once

#include "ir/graph/builder.h"
#include "passes/graph/training/training_entries.h"

namespace smelt {

/// Returns sum / max(count, 1).
Value* mean_loss(GraphBuilder& b, Value* sum, Value* count);

/// f32 scalars of one micro-step.
struct BatchCounts {
  Value* loss_sum = nullptr;     // sum of the loss over the targets; null: another pipeline stage computes it
  Value* token_count = nullptr;  // number of targets
  /// False: token_count is not added here. In a pipeline stage, only the first part adds it.
  bool adds_tokens = true;
};
/// Replaces the outputs "grad.PARAMETER" of all trained parameters by updates, which add these gradients to
/// the state "gradients". Also adds `counts` to the states "loss_sum" and "token_count". The outputs must be
/// gradients of the sum of the loss. If there is a loss scale, they must be gradients of the mean loss times
/// the scale instead, and add_sums converts them to gradients of the sum.
void add_sums(Graph& graph, const BatchCounts& counts, const TrainingOptions& options);

/// Adds the entry @apply of training_entries.h to the module. In a pipeline, this entry sums the loss and the
/// squared gradient norm over the stages.
void make_apply(Module& module, const TrainingOptions& options);

}  // namespace smelt
