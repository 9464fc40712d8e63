// make_pipeline_entries: the entries of a stage's training plan, from the parts that cut_stages has left.
//
//   loss.K     becomes the work of a part on a micro-batch, forward and backward: from the inputs
//   gradients.J.I
//              of its outputs values.J.I (J = K + 1) it also returns gradients.K.I of its inputs values.K.I,
//              and adds the gradients of its parameters to the state "gradients" (training_entries.h). The
//              last part adds loss_sum to its state; the first one of each stage adds token_count.
//   apply      the update of what lies on this stage. All stages run it at once: loss and gradient norm are
//              those of the whole model, parameters that several stages hold counted once. Before it the
//              caller adds up the gradients of these (Segment::stages).
//
// split_phases makes two entries of each part afterwards.
#pragma once

#include "passes/training/training_entries.h"

namespace smelt {

/// Flattens the parameters where that has not been done. Throws Error where there is nothing to train on the
/// stage, or a graph lacks token_count.
bool make_pipeline_entries(Module& module, const TrainingOptions& options);

}  // namespace smelt
