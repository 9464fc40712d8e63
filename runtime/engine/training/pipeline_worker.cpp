#include "runtime/engine/training/pipeline_worker.h"

#include <algorithm>
#include <set>

#include "runtime/base/error.h"

namespace smelt {
namespace {

PipelineStage stage_of(Session& session) {
  if (!session.ranks()) fail("the plan of a stage of a pipeline needs the other stages' ranks");
  const auto stage = pipeline_stage(session.plan(), session.ranks()->rank());
  if (!stage) fail("the plan is not that of a stage of a pipeline");
  return *stage;
}

bool sends(const PipelineStep& message) {
  return message.action == PipelineAction::send_values || message.action == PipelineAction::send_gradients;
}

StageMessage message_kind(const PipelineStep& message) {
  const bool values =
      message.action == PipelineAction::send_values || message.action == PipelineAction::receive_values;
  return values ? StageMessage::values : StageMessage::gradients;
}

/// Returns the part before which the message crosses a boundary.
int64_t boundary_of(const PipelineStep& message) { return std::max(message.part, other_part(message)); }

}  // namespace

PipelineWorker::PipelineWorker(Session& session, PipelineOrder order, Host host)
    : session_(session),
      order_(order),
      host_(std::move(host)),
      stage_(stage_of(session)),
      messages_(session.plan(), stage_, session.ranks()->along(stage_.axis)),
      memory_(session.executor().stage_memory(exchange_plan())) {}

// ---- one update

void PipelineWorker::accumulate(int64_t micro_batches) {
  micro_batches_.clear();
  prepare(micro_batches);
  for (const PipelineStep& step : schedule_.stages[static_cast<size_t>(stage_.stage)]) follow(step);
  add_up_copies();
}

/// Takes memory where there were fewer micro-batches so far.
void PipelineWorker::prepare(int64_t micro_batches) {
  if (schedule_.shape.micro_batches == micro_batches && !schedule_.stages.empty()) return;
  schedule_ = make_schedule(order_, {stage_.stages, micro_batches, stage_.parts_a_stage});
  const std::vector<PipelineStep>& steps = schedule_.stages[static_cast<size_t>(stage_.stage)];
  for (int64_t part = stage_.stage; part < stage_.parts(); part += stage_.stages)
    rings_[part].grow(
        session_.plan(),
        {&session_.entry(part_entry("forward", part)), &session_.entry(part_entry("backward", part))},
        places_needed(steps, part), *memory_);
}

void PipelineWorker::follow(const PipelineStep& step) {
  if (step.action == PipelineAction::forward) return run(step, "forward");
  if (step.action == PipelineAction::backward) return run(step, "backward");
  exchange(step);
}

SymbolValues PipelineWorker::sizes_of(const Batch& batch) const {
  const PlanEntry& entry = session_.entry("batch");
  return session_.unify(entry, batch.inputs_of(entry));
}

PipelineWorker::MicroBatch& PipelineWorker::micro_batch(int64_t number) {
  const auto [place, is_new] = micro_batches_.try_emplace(number);
  MicroBatch& micro = place->second;
  if (is_new) host_.fill(number, micro.batch), micro.sizes = sizes_of(micro.batch);
  return micro;
}

/// Runs an entry. Tensors that cross a boundary after the last work on a micro-batch still need its sizes, so
/// the micro-batch is erased after the next run.
void PipelineWorker::run(const PipelineStep& step, std::string_view what) {
  MicroBatch& micro = micro_batch(step.micro_batch);
  run_entry(session_.entry(part_entry(what, step.part)), rings_.at(step.part), step.micro_batch, micro);
  if (step.action == PipelineAction::backward) ++micro.backwards;
  std::erase_if(micro_batches_, [&](const auto& other) {
    return other.first != step.micro_batch && other.second.backwards == stage_.parts_a_stage;
  });
}

std::vector<HostTensor> PipelineWorker::run_entry(const PlanEntry& entry, const PortRings& rings,
                                                  int64_t micro_batch, const MicroBatch& data) {
  host_.before(micro_batch, entry, data.sizes);
  const auto place_of = [&](const Port& port) { return rings.place(port.name, micro_batch); };
  return session_.run(entry.name, data.sizes, data.batch.inputs_of(entry), *memory_, place_of);
}

void PipelineWorker::exchange(const PipelineStep& step) {
  exchange(rings_.at(step.part), step, message_kind(step), micro_batch(step.micro_batch).sizes);
}

void PipelineWorker::exchange(const PortRings& rings, const PipelineStep& step, StageMessage what,
                              const SymbolValues& sizes) {
  std::vector<StageMemory::Part> parts;
  for (const Port& port : messages_.across(what, boundary_of(step)))
    parts.push_back({rings.place(port.name, step.micro_batch),
                     element_count(port.shape).evaluate(sizes) * size_of(port.dtype)});
  const int64_t other = other_part(step) % stage_.stages;
  if (sends(step))
    memory_->send(parts, other);
  else
    memory_->receive(parts, other);
}

// ---- evaluation

void PipelineWorker::prepare_evaluation() {
  for (int64_t part = stage_.stage; part < stage_.parts(); part += stage_.stages)
    evaluated_[part].grow(session_.plan(), {&session_.entry(part_entry("evaluate", part))}, 1, *memory_);
}

std::vector<HostTensor> PipelineWorker::evaluate(const Batch& batch) {
  prepare_evaluation();
  const MicroBatch data{batch, sizes_of(batch)};
  std::vector<HostTensor> last;
  for (int64_t part = stage_.stage; part < stage_.parts(); part += stage_.stages) {
    const PortRings& rings = evaluated_.at(part);
    const auto pass = [&](PipelineAction action) {
      exchange(rings, {action, part, 0}, StageMessage::evaluation, data.sizes);
    };
    if (part > 0) pass(PipelineAction::receive_values);
    last = run_entry(session_.entry(part_entry("evaluate", part)), rings, 0, data);
    if (part + 1 < stage_.parts()) pass(PipelineAction::send_values);
  }
  return stage_.stage + 1 == stage_.stages ? std::move(last) : std::vector<HostTensor>{};
}

// ---- parameters of several stages

/// Returns the segments in the order of their names, which is the same at all stages.
std::vector<const Segment*> PipelineWorker::copies() const {
  const State* gradients = session_.plan().find_state("gradients");
  std::vector<const Segment*> copies;
  if (gradients)
    for (const Segment& segment : gradients->segments)
      if (!segment.stages.empty()) copies.push_back(&segment);
  std::ranges::sort(copies, {}, &Segment::name);
  return copies;
}

StageExchange PipelineWorker::exchange_plan() const {
  std::set<std::vector<int64_t>> holders;
  for (const Segment* copy : copies()) holders.insert(copy->stages);
  StageExchange exchange{stage_.axis, {}, {holders.begin(), holders.end()}};
  for (const auto& [from, to] : message_links(stage_))
    exchange.links[{from, to}] = messages_.bytes_between(session_.plan(), from, to);
  return exchange;
}

void PipelineWorker::add_up_copies() {
  const State* gradients = session_.plan().find_state("gradients");
  if (!gradients) return;
  const auto index = static_cast<int>(gradients - session_.plan().states.data());
  for (const Segment* copy : copies()) memory_->add_up(index, copy->offset, copy->elements(), copy->stages);
}

}  // namespace smelt
