#include "runtime/engine/training/trainer_plan.h"

#include <fmt/ranges.h>

#include "runtime/base/error.h"
#include "runtime/plan/plan_ranks.h"

namespace smelt {
namespace {

std::vector<std::string> needed_entries(const Plan& plan, const TrainerOptions& options) {
  const bool evaluates = options.eval_every > 0, accumulates = options.gradient_accumulation > 1;
  const auto stage = pipeline_stage(plan);
  std::vector<std::string> needed = {fed_entry(plan, options)};
  if (accumulates || stage) needed.push_back("apply");
  if (evaluates && !stage) needed.push_back("evaluate");
  if (evaluates && stage)
    for (int64_t part = stage->stage; part < stage->parts(); part += stage->stages)
      needed.push_back(part_entry("evaluate", part));
  return needed;
}

}  // namespace

std::string fed_entry(const Plan& plan, const TrainerOptions& options) {
  if (pipeline_stage(plan)) return "batch";
  return options.gradient_accumulation > 1 ? "accumulate" : "train_step";
}

void require_entries(const Plan& plan, const TrainerOptions& options) {
  std::vector<std::string> needed = needed_entries(plan, options);
  std::erase_if(needed, [&](const std::string& name) { return plan.find_entry(name) != nullptr; });
  if (!needed.empty())
    fail("the plan has no entry '{}': compile the model with --mode=train", fmt::join(needed, "', '"));
  if (!plan.find_state("learning_rate"))
    fail("the plan has no state 'learning_rate', which the trainer sets before each step");
}

/// Creates the pipeline worker if the plan is a stage's, with callbacks to the trainer, which has done
/// result_.step updates.
void Trainer::make_pipeline() {
  const auto stage = pipeline_stage(session_.plan());
  if (!stage) return;
  const auto fill = [this](int64_t micro_batch, Batch& batch) {
    const int64_t place = micro_batch * ranks_.data_ranks() + ranks_.data_rank();
    stream_->fill(options_.overfit_one_batch ? 0 : result_.step, place, batch);
    update_tokens_ += batch.tokens;
  };
  const auto before = [this](int64_t micro_batch, const PlanEntry& entry, const SymbolValues& sizes) {
    ranks_.progress("training", result_.step + 1);
    session_.set_random(static_cast<uint32_t>(options_.seed), result_.step, micro_batch);
    count_flops(entry, sizes);
  };
  pipeline_.emplace(session_, order_of(*stage, options_.pipeline_order), PipelineWorker::Host{fill, before});
}

/// Each rank takes some of the batches; all ranks run as many where they exchange something.
BatchShare Trainer::share_of_evaluation() const {
  return {ranks_.data_rank(), ranks_.data_ranks(), exchanges_along(session_.plan(), "evaluate", "data")};
}

}  // namespace smelt
