// make_training_entries: the entries of a training plan, from the graph @loss (outputs loss_sum and
// token_count).
//
//   train_step   one optimiser step on one batch. Outputs loss (the mean over counted targets), token_count,
//                gradient_norm. The mean is differentiated, so that the gradients need no sweep of their own.
//   accumulate   adds the unnormalised gradients of a batch to "gradients", its loss_sum and token_count to
//   the states of
//                those names, and counts the batch in "accumulated". Outputs loss_sum, token_count (of this
//                batch).
//   apply        divides what was accumulated by its token count and steps. Outputs loss, token_count,
//   gradient_norm.
//
// While "accumulated" is 0 the sums hold nothing and are not read: apply and train_step reset that one
// counter.
#pragma once

#include "passes/optimizers.h"

namespace smelt {

struct TrainingOptions {
  ApplyOptimizerOptions optimizer;
  bool accumulation = true;  // make accumulate and apply too
  std::string loss = "loss";
};
/// Flattens the parameters where that has not been done (merge_gemms on @loss belongs before it).
bool make_training_entries(Module& module, const TrainingOptions& options);
/// accumulation = "false", loss = "loss", and the options of apply_optimizer
void set_option(TrainingOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
