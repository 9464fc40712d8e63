// make_pipeline_entries: makes the entries of a pipeline stage's training plan from the parts that cut_stages
// made.
//
//   loss.K   becomes forward and backward of part K on a micro-batch. From the inputs gradients.J.I of its
//            outputs values.J.I (J = K + 1) it also returns gradients.K.I of its inputs values.K.I, and adds
//            the gradients of its parameters to the state "gradients" (training_entries.h). The last part
//            adds loss_sum to its state; the first part of each stage adds token_count.
//   apply    updates the parameters of this stage. All stages run it at once: loss and gradient norm are
//            those of the whole model, and a parameter that several stages hold counts once. Before it the
//            caller sums the gradients of these parameters over stages (Segment::stages).
//
// split_phases then makes two entries of each part.
#pragma once

#include "passes/graph/training/training_entries.h"

namespace smelt {

/// Makes the entries, and flattens the parameters if they are not flat. Throws Error if the stage has nothing
/// to train or a graph lacks token_count.
bool make_pipeline_entries(Module& module, const TrainingOptions& options);

}  // namespace smelt
