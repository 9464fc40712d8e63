// make_training_entries: makes the entries of a training plan from the graph @loss (outputs loss_sum and
// token_count).
//
//   train_step   one optimizer step on one batch. Outputs loss (the mean over counted targets), token_count,
//                gradient_norm. The mean is differentiated, so that scaling the gradients needs no sweep.
//   accumulate   adds the unnormalised gradients of a batch to "gradients", and its loss_sum and
//                token_count to the states of those names. Outputs loss_sum, token_count (of this batch).
//   apply        divides the accumulated gradients by their token count, updates, and clears the sums.
//                Outputs loss, token_count, gradient_norm.
//
// The sums start as zeros and train_step does not use them; a caller that abandons an update clears them
// (Session::clear_state). A checkpoint has no sums, because it is taken after a finished update.
#pragma once

#include "ir/pass_options.h"
#include "passes/graph/training/optimizers.h"

namespace smelt {

struct TrainingOptions {
  ApplyOptimizerOptions optimizer;
  bool accumulation = true;  // make accumulate and apply too
  std::string loss = "loss";
  /// True: accumulate makes the gradient flat before it adds it to the sums, which may then be sharded over
  /// ranks.
  bool flat_sums = false;
};
template <typename Field>
void visit_options(Field& field, TrainingOptions& o) {
  visit_options(field, o.optimizer);
  field("accumulation", o.accumulation), field("loss", o.loss), field("flat_sums", o.flat_sums);
}
/// Makes the entries; flattens the parameters if they are not flat (merge_gemms on @loss must run before).
/// Throws Error if @loss is missing or lacks an output, or if one is not f32[].
bool make_training_entries(Module& module, const TrainingOptions& options);

}  // namespace smelt
