// make_pipeline_entries: makes the entries of a pipeline stage's training plan from the parts that cut_stages
// made. Part K of the model has the inputs values.K.0, values.K.1, ..., which part K - 1 returns. So the
// outputs of part K are values.J.0, values.J.1, ... with J = K + 1.
//
//   loss.K   computes forward and backward of part K on a micro-batch. It gets new inputs gradients.J.I, the
//            gradients of its outputs values.J.I. It returns the gradients of its inputs values.K.I as
//            gradients.K.I, and adds the gradients of its parameters to the state "gradients"
//            (passes/graph/training/training_entries.h). The part that computes loss_sum adds it to a state.
//            The first part of each stage adds token_count to a state.
//   apply    updates the parameters of this stage. All stages run it at the same time. The loss and the
//            gradient norm are those of the whole model; a parameter that several stages hold counts once.
//            The caller must first sum the gradients of such parameters over their stages
//            (Segment::stages).
//
// Runs after cut_stages. Afterwards, the pass split_phases splits each entry loss.K into two entries.
#pragma once

#include "passes/graph/training/training_entries.h"

namespace smelt {

/// Makes the entries, and flattens the parameters if they are not flat. Throws Error if all parameters of the
/// stage are frozen, if a part has no output token_count, or if the loss depends on no output of a part.
bool make_pipeline_entries(Module& module, const TrainingOptions& options);

}  // namespace smelt
