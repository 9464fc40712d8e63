// make_training_entries: adds the entries of a training plan, which it makes from the graph @loss. @loss
// returns loss_sum, the loss summed over all targets, and token_count, the number of targets.
//
//   train_step   Runs one optimizer step on one batch. Outputs: loss (the mean over the targets),
//                token_count, gradient_norm. The mean is differentiated, so that gradients need no division.
//   accumulate   Adds the gradients of loss_sum of a batch to the state "gradients", and its loss_sum and
//                token_count to the states of those names. Outputs: loss_sum, token_count (of this batch).
//   apply        Divides the accumulated gradients by their token count, updates the parameters, and clears
//                the sums. Outputs: loss, token_count, gradient_norm.
//
// The sums begin as zeros, and train_step does not use them. A caller that abandons an update clears them
// (Session::clear_state). Checkpoints have no sums, because they are taken after a finished update.
#pragma once

#include "ir/pass_options.h"
#include "passes/graph/training/optimizers.h"

namespace smelt {

struct TrainingOptions {
  ApplyOptimizerOptions optimizer;
  bool accumulation = true;   // add the entries accumulate and apply too
  std::string loss = "loss";  // name of the graph that returns the loss
  /// True: accumulate packs the gradients into one flat value before it adds them to the sums, so that the
  /// sums can be sharded over ranks. False: it adds each gradient to a part of the sums, unless loss scaling
  /// or sharded parameters need the flat value.
  bool flat_sums = false;
  /// True: matmuls of activations by weights are in f8e4m3, in all graphs (quantize_matmuls.h).
  bool fp8 = false;
  std::vector<std::string> fp8_weights = {}, fp8_keep = {};  // QuantizeMatmulsOptions
};
template <typename Field>
void visit_options(Field& field, TrainingOptions& o) {
  visit_options(field, o.optimizer);
  field("accumulation", o.accumulation), field("loss", o.loss), field("flat_sums", o.flat_sums);
  field("fp8", o.fp8), field("fp8_weights", o.fp8_weights), field("fp8_keep", o.fp8_keep);
}
/// Adds the entries; returns true. First runs flatten_parameters, which does nothing if it has run already.
/// merge_gemms or plan_neighbours must run on @loss earlier, because they choose the parameters that become
/// adjacent (Module::adjacent). Throws Error if @loss is missing, if it lacks one of the two outputs or one
/// is not f32[], or if all parameters are frozen.
bool make_training_entries(Module& module, const TrainingOptions& options);

}  // namespace smelt
