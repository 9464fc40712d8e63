#include "compiler/search/stage_cost.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/pipeline_simulation.h"
#include "runtime/engine/training/pipeline_stage.h"

namespace smelt {
namespace {

const PlanEntry& entry_of(const Program& program, const std::string& name) {
  const auto entry = llvm::find_if(program.entries, [&](const PlanEntry& e) { return e.name == name; });
  if (entry == program.entries.end()) fail("a stage of a pipeline has no entry @{}", name);
  return *entry;
}

/// Returns the bytes of the ports that cross the boundary of a part: "saved.3.0" where `what` is "saved" and
/// `part` is 3.
int64_t bytes_of_ports(const Program& program, const std::vector<Port>& ports, std::string_view what,
                       int64_t part) {
  int64_t bytes = 0;
  for (const Port& port : ports)
    if (crosses_boundary(port.name, what, part))
      bytes += bytes_at_bounds(program.symbols, element_count(port.shape), port.dtype);
  return bytes;
}

/// One rank gives another N bytes: what a ring of two does to gather 2 N.
double message_seconds(double bytes, const MachineRates& rates) {
  return rates.collectives.time(CollectiveKind::all_gather, 2).seconds(2 * bytes);
}

/// The work of a stage outside of the schedule.
struct StageWork {
  EntryTime micro_batch;  // forward and backward of all its parts
  EntryTime update;
  double sums = 0;  // of gradients of parameters that several stages hold
};

class StageTimer {
 public:
  StageTimer(std::span<const Program> programs, const PlanCandidate& candidate, const MachineRates& rates)
      : programs_(programs), candidate_(candidate), rates_(rates), works_(programs.size()) {
    const auto parts = static_cast<size_t>(candidate.shape().parts());
    times_.forward.resize(parts), times_.backward.resize(parts);
  }

  StageTime run() {
    for (int64_t part = 0; part < candidate_.shape().parts(); ++part) take(part);
    for (size_t stage = 0; stage < programs_.size(); ++stage) finish(programs_[stage], works_[stage]);
    const PipelineSchedule schedule = make_schedule(candidate_.order(), candidate_.shape());
    return over(simulate(schedule, times_, ring_sizes(schedule)));
  }

 private:
  void take(int64_t part) {
    const auto stage = static_cast<size_t>(candidate_.shape().stage_of(part));
    const Program& program = programs_[stage];
    const PlanEntry& forward = entry_of(program, part_entry("forward", part));
    const EntryTime there = predicted_time(program, forward, rates_);
    const EntryTime back = predicted_time(program, entry_of(program, part_entry("backward", part)), rates_);
    times_.forward[static_cast<size_t>(part)] = there.seconds;
    times_.backward[static_cast<size_t>(part)] = back.seconds;
    works_[stage].micro_batch += there, works_[stage].micro_batch += back;
    const auto sent = static_cast<double>(bytes_of_ports(program, forward.outputs, "values", part + 1));
    times_.message = std::max(times_.message, message_seconds(sent, rates_));
  }

  void finish(const Program& program, StageWork& work) const {
    work.update = predicted_time(program, entry_of(program, "apply"), rates_);
    for (const State& state : program.states)
      if (state.name == "gradients")
        for (const Segment& segment : state.segments)
          if (!segment.stages.empty()) work.sums += sum_seconds(segment);
  }

  /// Returns the time in which one stage adds up the gradients of the others, one after the other, and sends
  /// them the sum.
  double sum_seconds(const Segment& copy) const {
    const double bytes = static_cast<double>(copy.elements()) * static_cast<double>(size_of(DType::f32));
    return 2 * static_cast<double>(copy.stages.size() - 1) * message_seconds(bytes, rates_);
  }

  StageTime over(const PipelineTiming& schedule) const {
    const auto count = static_cast<double>(candidate_.micro_batches);
    StageTime result;
    double sums = 0, update = 0;
    for (const StageWork& work : works_) {
      EntryTime time = work.update;
      time += count * work.micro_batch;
      time.exposed += work.sums, time.collectives += work.sums;
      if (time.compute >= result.time.compute) result.time = time;
      sums = std::max(sums, work.sums), update = std::max(update, work.update.seconds);
    }
    result.time.seconds = schedule.total + sums + update;
    result.bubble = result.time.seconds > 0 ? schedule.bubble * schedule.total / result.time.seconds : 0;
    return result;
  }

  std::span<const Program> programs_;
  const PlanCandidate& candidate_;
  const MachineRates& rates_;
  PipelineTimes times_;
  std::vector<StageWork> works_;
};

}  // namespace

StageTime stage_time(std::span<const Program> programs, const PlanCandidate& candidate,
                     const MachineRates& rates) {
  return StageTimer(programs, candidate, rates).run();
}

int64_t kept_bytes(const Program& stage, const PlanCandidate& candidate) {
  const std::vector<int64_t> most = most_kept(make_schedule(candidate.order(), candidate.shape()));
  int64_t bytes = 0;
  for (int64_t part = 0; part < candidate.shape().parts(); ++part) {
    const std::string name = part_entry("backward", part);
    if (llvm::none_of(stage.entries, [&](const PlanEntry& e) { return e.name == name; })) continue;
    const PlanEntry& backward = entry_of(stage, name);
    const int64_t kept = bytes_of_ports(stage, backward.inputs, "saved", part) +
                         bytes_of_ports(stage, backward.inputs, "values", part);
    bytes += most[static_cast<size_t>(part)] * kept +
             bytes_of_ports(stage, backward.inputs, "gradients", part + 1) +
             bytes_of_ports(stage, backward.outputs, "gradients", part);
  }
  return bytes;
}

}  // namespace smelt
