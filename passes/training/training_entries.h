// make_training_entries: the entries of a training plan, from the graph @loss (outputs loss_sum and
// token_count).
//
//   train_step   one optimiser step on one batch. Outputs loss (the mean over counted targets), token_count,
//                gradient_norm. The mean is differentiated, so that the gradients need no sweep of their own.
//   accumulate   adds the unnormalised gradients of a batch to "gradients", and its loss_sum and
//                token_count to the states of those names. Outputs loss_sum, token_count (of this batch).
//   apply        divides what was accumulated by its token count, steps, and leaves zeros for the next sums.
//                Outputs loss, token_count, gradient_norm.
//
// The sums begin as zeros and train_step does not touch them; a caller that abandons an update clears them
// (Session::clear_state). A checkpoint holds none, since it is taken after a finished update.
#pragma once

#include "passes/training/optimizers.h"

namespace smelt {

struct TrainingOptions {
  ApplyOptimizerOptions optimizer;
  bool accumulation = true;  // make accumulate and apply too
  std::string loss = "loss";
  /// accumulate makes the gradient flat before it adds it to the sums, of which ranks may have parts then.
  bool flat_sums = false;
};
/// Flattens the parameters where that has not been done (merge_gemms on @loss belongs before it).
/// Throws Error where @loss is missing or lacks an output, or where one is not f32[].
bool make_training_entries(Module& module, const TrainingOptions& options);
/// accumulation = "false", loss = "loss", and the options of apply_optimizer
void set_option(TrainingOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
