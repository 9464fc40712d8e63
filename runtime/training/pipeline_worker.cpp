#include "runtime/training/pipeline_worker.h"

#include <algorithm>

#include "runtime/error.h"
#include "runtime/training/tensor_messages.h"

namespace smelt {
namespace {

PipelineStage stage_of(Session& session) {
  if (!session.ranks()) fail("the plan of a stage of a pipeline needs the other stages' ranks");
  const auto stage = pipeline_stage(session.plan(), session.ranks()->rank());
  if (!stage) fail("the plan is not that of a stage of a pipeline");
  return *stage;
}

bool has_input(const PlanEntry& entry, std::string_view name) {
  return std::ranges::any_of(entry.inputs, [&](const Port& port) { return port.name == name; });
}

/// The tensors of these names that cross a boundary.
template <typename Kept>
std::vector<const HostTensor*> crossing(const Kept& kept, std::string_view what, int64_t part) {
  std::vector<const HostTensor*> tensors;
  for (const auto& [name, tensor] : kept)
    if (crosses_boundary(name, what, part)) tensors.push_back(&tensor);
  return tensors;
}

}  // namespace

PipelineWorker::PipelineWorker(Session& session, PipelineOrder order, Host host)
    : session_(session), order_(order), host_(std::move(host)), stage_(stage_of(session)) {}

Communicator& PipelineWorker::group() { return session_.ranks()->along(stage_.axis); }

void PipelineWorker::accumulate(int64_t micro_batches) {
  kept_.clear(), batches_.clear(), backwards_.clear();
  const PipelineSchedule schedule =
      make_schedule(order_, {stage_.stages, micro_batches, stage_.parts_a_stage});
  for (const PipelineStep& step : schedule.stages[static_cast<size_t>(stage_.stage)]) follow(step);
  add_up_copies();
}

void PipelineWorker::follow(const PipelineStep& step) {
  switch (step.action) {
    case PipelineAction::forward:
      return run(step, "forward");
    case PipelineAction::backward:
      return run(step, "backward");
    case PipelineAction::send_values:
    case PipelineAction::send_gradients:
      return send(step);
    case PipelineAction::receive_values:
    case PipelineAction::receive_gradients:
      return receive(step);
  }
}

const Batch& PipelineWorker::batch_of(int64_t micro_batch) {
  const auto [place, is_new] = batches_.try_emplace(micro_batch);
  if (is_new) host_.fill(micro_batch, place->second);
  return place->second;
}

void PipelineWorker::run(const PipelineStep& step, std::string_view what) {
  Kept& kept = kept_[{step.part, step.micro_batch}];
  const PlanEntry& entry = session_.entry(part_entry(what, step.part));
  for (HostTensor& made : run_entry(entry, batch_of(step.micro_batch), kept, step.micro_batch)) {
    std::string name = made.name;
    kept.insert_or_assign(std::move(name), std::move(made));
  }
  if (step.action == PipelineAction::backward) {
    std::erase_if(kept,
                  [&](const auto& item) { return !crosses_boundary(item.first, "gradients", step.part); });
    if (++backwards_[step.micro_batch] == stage_.parts_a_stage) batches_.erase(step.micro_batch);
  }
}

std::vector<HostTensor> PipelineWorker::run_entry(const PlanEntry& entry, const Batch& batch,
                                                  const Kept& kept, int64_t micro_batch) {
  std::vector<InputTensor> inputs = batch.inputs_of(entry);
  for (const auto& [name, tensor] : kept)
    if (has_input(entry, name)) inputs.push_back({name, tensor.dtype, tensor.shape, tensor.bytes.data()});
  host_.before(micro_batch, entry, inputs);
  return session_.run(entry.name, inputs);
}

void PipelineWorker::send(const PipelineStep& step) {
  Kept& kept = kept_[{step.part, step.micro_batch}];
  const bool values = step.action == PipelineAction::send_values;
  send_tensors(group(), other_part(step) % stage_.stages,
               values ? crossing(kept, "values", step.part + 1) : crossing(kept, "gradients", step.part));
  if (values)
    forget_unneeded(step.part, kept);
  else
    kept_.erase({step.part, step.micro_batch});
}

void PipelineWorker::receive(const PipelineStep& step) {
  Kept& kept = kept_[{step.part, step.micro_batch}];
  for (HostTensor& tensor : receive_tensors(group(), other_part(step) % stage_.stages)) {
    std::string name = tensor.name;
    kept.insert_or_assign(std::move(name), std::move(tensor));
  }
}

/// What forward took or gave and backward does not ask for.
void PipelineWorker::forget_unneeded(int64_t part, Kept& kept) const {
  const PlanEntry& backward = session_.entry(part_entry("backward", part));
  std::erase_if(kept, [&](const auto& item) { return !has_input(backward, item.first); });
}

std::vector<HostTensor> PipelineWorker::evaluate(const Batch& batch) {
  std::vector<HostTensor> last;
  for (int64_t part = stage_.stage; part < stage_.parts(); part += stage_.stages) {
    Kept kept;
    if (part > 0)
      for (HostTensor& tensor : receive_tensors(group(), (part - 1) % stage_.stages)) {
        std::string name = tensor.name;
        kept.insert_or_assign(std::move(name), std::move(tensor));
      }
    last = run_entry(session_.entry(part_entry("evaluate", part)), batch, kept, 0);
    std::vector<const HostTensor*> sent;
    for (const HostTensor& tensor : last)
      if (crosses_boundary(tensor.name, "values", part + 1)) sent.push_back(&tensor);
    if (part + 1 < stage_.parts()) send_tensors(group(), (part + 1) % stage_.stages, sent);
  }
  return stage_.stage + 1 == stage_.stages ? std::move(last) : std::vector<HostTensor>{};
}

/// In the order of their names, which all stages have in common.
void PipelineWorker::add_up_copies() {
  const State* gradients = session_.plan().find_state("gradients");
  if (!gradients) return;
  std::vector<const Segment*> copies;
  for (const Segment& segment : gradients->segments)
    if (!segment.stages.empty()) copies.push_back(&segment);
  std::ranges::sort(copies, {}, &Segment::name);
  for (const Segment* copy : copies) add_up(*copy);
}

/// The first holder adds up what the others have, in their order, and gives them the sum.
void PipelineWorker::add_up(const Segment& segment) {
  const std::span<float> own = session_.segment("gradients", segment.name);
  const auto bytes = std::as_writable_bytes(own);
  const int64_t first = segment.stages.front();
  if (stage_.stage != first) {
    group().send(bytes, first);
    group().receive(bytes, first);
    return;
  }
  std::vector<float> others(own.size());
  for (const int64_t holder : segment.stages) {
    if (holder == first) continue;
    group().receive(std::as_writable_bytes(std::span(others)), holder);
    for (size_t i = 0; i < own.size(); ++i) own[i] += others[i];
  }
  for (const int64_t holder : segment.stages)
    if (holder != first) group().send(bytes, holder);
}

}  // namespace smelt
