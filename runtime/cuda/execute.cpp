// Execution of an entry: step by step, checked or timed, or as one graph; and reports of faults.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/cuda/algorithm_choice.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/describe.h"
#include "runtime/cuda/executor.h"
#include "runtime/cuda/nvtx.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/retained_ports.h"
#include "runtime/session/index_faults.h"

namespace smelt::cuda {
namespace {

constexpr size_t kMostInFlight = 5;  // runs that have been started and have not ended

void run_copy(const CopyLaunch& copy, Stream stream) {
  if (copy.bytes > 0)
    check(driver().MemcpyDtoDAsync(copy.to, copy.from, copy.bytes, stream), "copying on the device");
}

void run_fill(const FillLaunch& fill, Stream stream) {
  const Driver& d = driver();
  const auto code = [&] {
    if (fill.count == 0) return 0;
    if (fill.width == 4) return d.MemsetD32Async(fill.to, fill.pattern, fill.count, stream);
    if (fill.width == 2)
      return d.MemsetD16Async(fill.to, static_cast<uint16_t>(fill.pattern), fill.count, stream);
    return d.MemsetD8Async(fill.to, static_cast<uint8_t>(fill.pattern), fill.count, stream);
  };
  check(code(), "filling memory");
}

/// Returns the names of the step's nodes, as in dumps.
std::string step_name(const Step& step) {
  if (step.sources.empty()) return std::string(kind_name(step));
  return fmt::format("{}", fmt::join(step.sources, ", "));
}

}  // namespace

void require_places(const Plan& plan, const PlanEntry& entry, std::span<const DevicePointer> places) {
  const auto check_ports = [&](const std::vector<Port>& ports, size_t first) {
    for (size_t i = 0; i < ports.size(); ++i)
      if (is_kept_port(plan, ports[i]) && (first + i >= places.size() || places[first + i] == 0))
        fail(
            "entry '{}' is one of a stage of a pipeline: '{}' lies in the stage's memory, where the trainer "
            "runs it",
            entry.name, ports[i].name);
  };
  check_ports(entry.inputs, 0);
  check_ports(entry.outputs, entry.inputs.size());
}

// ---- faults

/// Handles an error of any kind: if the device did not survive, reports the runs that were in progress.
void CudaExecutor::explain(const Error& error) {
  const bool one_step = std::exchange(checks_steps_, false);
  const int code = driver().StreamSynchronize(stream_.get());
  if (code == 0) return;
  std::vector<std::string> runs;
  for (const ResolvedEntry* resolved : in_flight_) runs.push_back(describe_run(*resolved));
  const std::string fault =
      one_step ? std::string(error.what())
               : fmt::format(
                     "GPU: a fault in {}: {}; --check-steps (SMELT_CHECK_STEPS=1) waits after every step and "
                     "names the one that fails",
                     runs.empty() ? "the plan" : fmt::format("{}", fmt::join(runs, " or ")), describe(code));
  device_.fail_from_now_on(fault + "; that GPU is lost to this process");
  device_.make_current();  // throws it
}

void CudaExecutor::note_run(const ResolvedEntry& resolved) {
  std::erase(in_flight_, &resolved);
  if (in_flight_.size() == kMostInFlight) in_flight_.erase(in_flight_.begin());
  in_flight_.push_back(&resolved);
}

void CudaExecutor::finish(const char* what) {
  check(driver().StreamSynchronize(stream_.get()), what);
  if (collectives_) collectives_->check();
  in_flight_.clear();
}

/// Checks the index faults of all runs since results were last waited for.
void CudaExecutor::check_indices() {
  IndexFaults faults;
  for (const int index : index_faults_) {
    IndexFault found{};
    std::memcpy(&found, states_.read(index).data(), sizeof found);
    if (found[0] != 0 || found[1] != 0) states_.clear(index);
    faults.add(plan_->states[static_cast<size_t>(index)], found);
  }
  faults.check();
}

// ---- one step

void CudaExecutor::launch(Launch& what) {
  const Stream stream = stream_.get();
  std::visit(
      Overloaded{[&](KernelLaunch& kernel) { check(kernel.run(stream), "launching a kernel"); },
                 [&](GemmLaunch& gemm) { run_gemm(gemm.gemm); }, [&](PartedGemm& gemm) { run_parts(gemm); },
                 [&](TemplateLaunches& launches) {
                   for (const KernelLaunch& kernel : launches.kernels)
                     check(kernel.run(stream), "launching a kernel");
                 },
                 [&](CopyLaunch& copy) { run_copy(copy, stream); },
                 [&](FillLaunch& fill) { run_fill(fill, stream); },
                 [&](CollectiveLaunch& collective) { begin(collective); },
                 [&](HostCopyLaunch& copy) { begin(copy); }},
      what);
}

/// Runs a collective concurrently with later steps, unless every step is checked or timed by itself.
void CudaExecutor::begin(const CollectiveLaunch& collective) {
  if (collective.ranks == 1) {
    const auto bytes = static_cast<size_t>(collective.part_bytes());
    for (int64_t i = 0; i < collective.rows; ++i)
      if (const CollectiveLaunch row = collective.row(i); row.from != row.to)
        run_copy({row.from, row.to, bytes}, stream_.get());
    return;
  }
  if (collective.made_in_parts && !steps_are_apart()) return;  // it has begun with the step before it
  collectives_->launch(collective, stream_.get());
  if (steps_are_apart()) collectives_->join_all(stream_.get());
}

/// Returns whether each step is checked, or timed, by itself.
bool CudaExecutor::steps_are_apart() const { return checks_steps_ || options_.profile; }

void CudaExecutor::begin(const HostCopyLaunch& copy) {
  host_copies_->launch(copy, stream_.get());
  if (steps_are_apart()) host_copies_->join_all(stream_.get());
}

/// Waits for the work on other streams that the step needs.
void CudaExecutor::join(size_t step) {
  if (collectives_) collectives_->join(step, stream_.get());
  if (host_copies_) host_copies_->join(step, stream_.get());
}

void CudaExecutor::join_all() {
  if (collectives_) collectives_->join_all(stream_.get());
  if (host_copies_) host_copies_->join_all(stream_.get());
}

void CudaExecutor::run_parts(PartedGemm& gemm) {
  const auto run = [&](int64_t rank) { run_gemm(gemm.parts[static_cast<size_t>(rank)]); };
  if (!gemm.makes)
    collectives_->read_in_parts(gemm.collective, stream_.get(), run);
  else if (!steps_are_apart())
    collectives_->launch_made_in_parts(gemm.collective, stream_.get(), run);
  else
    for (int64_t rank = 0; rank < std::ssize(gemm.parts); ++rank) run(rank);
}

void CudaExecutor::run_gemm(PreparedGemm& gemm) {
  if (!workspace_) workspace_ = device_block(device_, kGemmWorkspace, options_.allocator);
  if (!gemm.chosen()) {
    const auto lap = startup_.lap("algorithms");
    gemm.choose(stream_.get(), workspace_.get(), gemm_choices());
  }
  gemm.run(stream_.get(), workspace_.get());
}

/// Errors name the step.
void CudaExecutor::launch_step(ResolvedEntry& resolved, size_t step) {
  const Range range(step_name(resolved.entry->steps[step]));
  try {
    launch(resolved.launches[step]);
    if (checks_steps_) finish("waiting for it");
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", describe_launch(*plan_, resolved, step), error.what()), error.status());
  }
}

// ---- a whole entry

void CudaExecutor::run(const PlanEntry& entry, const SymbolValues& symbols,
                       std::span<const void* const> inputs, std::span<void* const> outputs,
                       const Philox& random) {
  run_at(entry, symbols, inputs, outputs, {}, random);
}

void CudaExecutor::run_at(const PlanEntry& entry, const SymbolValues& symbols,
                          std::span<const void* const> inputs, std::span<void* const> outputs,
                          std::span<const DevicePointer> places, const Philox& random) {
  const Range range(entry.name);
  guarded([&] {
    if (outputs.size() != entry.outputs.size())
      fail("entry '{}' is given {} outputs: expected {}", entry.name, outputs.size(), entry.outputs.size());
    require_places(*plan_, entry, places);
    ResolvedEntry& ready = prepared(entry, symbols, inputs, random, places);
    if (options_.poison) poison(ready);
    execute(ready);
    deliver(ready, outputs);
  });
}

/// Waits if an output is the host's, and then reports the faults up to here.
void CudaExecutor::deliver(const ResolvedEntry& resolved, std::span<void* const> outputs) {
  if (!transfers_.fetch(resolved, outputs, addresses_, stream_.get())) return;
  if (collectives_) collectives_->check();
  in_flight_.clear();
  check_indices();
}

/// Inputs and states of the host are on their way, and what the entry writes is noted: also by a run that
/// fails half-way.
ResolvedEntry& CudaExecutor::prepared(const PlanEntry& entry, const SymbolValues& symbols,
                                      std::span<const void* const> inputs, const Philox& random,
                                      std::span<const DevicePointer> places,
                                      const std::vector<bool>& on_device) {
  ResolvedEntry& ready = resolved(entry, symbols, places);
  states_.upload_all();
  transfers_.stage(ready, inputs, on_device, addresses_, stream_.get());
  random_.upload(random, symbols, stream_.get());
  mark_written(entry);
  return ready;
}

void CudaExecutor::repeat(const PlanEntry& entry, const SymbolValues& symbols,
                          std::span<const void* const> inputs, const Philox& random, int times) {
  const Range range(entry.name);
  guarded([&] {
    require_places(*plan_, entry, {});
    ResolvedEntry& ready = prepared(entry, symbols, inputs, random);
    for (int i = 0; i < times; ++i) {
      if (options_.poison) poison(ready);
      execute(ready);
    }
  });
}

std::span<std::byte> CudaExecutor::peek(int index) { return states_.peek(index); }

/// Step by step at first, while algorithms are chosen; captured the second time, from then on one launch.
void CudaExecutor::execute(ResolvedEntry& resolved) {
  if (options_.after_step) return launch_watched(resolved);
  if (!resolved.has_run || options_.check_steps) return launch_checked(resolved);
  if (options_.profile) return launch_profiled(resolved);
  if (!resolved.graph) capture(resolved);
  note_run(resolved);
  check(driver().GraphLaunch(resolved.graph.get(), stream_.get()), "launching a graph");
}

void CudaExecutor::launch_all(ResolvedEntry& resolved) {
  if (collectives_) collectives_->forget();
  if (host_copies_) host_copies_->forget();
  for (size_t i = 0; i < resolved.launches.size(); ++i) {
    join(i);
    if (takes(resolved, i)) launch_step(resolved, i);
  }
  join_all();
}

/// Returns whether the step runs: of alternatives, the steps of the chosen one do. The alternative is chosen
/// when its first step is reached, because its inputs are available then.
bool CudaExecutor::takes(ResolvedEntry& resolved, size_t step) {
  const Step& asked = resolved.entry->steps[step];
  if (asked.choice < 0) return true;
  int& taken = resolved.taken[static_cast<size_t>(asked.choice)];
  if (taken < 0) {
    const auto lap = startup_.lap("algorithms");
    const auto launch = [&](size_t each, bool waits) {
      const bool checks = std::exchange(checks_steps_, checks_steps_ && waits);
      launch_step(resolved, each);
      checks_steps_ = checks;
    };
    taken = choose_alternative(*plan_, resolved, step, *step_choices_, {device_, stream_.get(), launch});
  }
  return taken == asked.alternative;
}

/// Waits after every step, so that a fault has its name.
void CudaExecutor::launch_checked(ResolvedEntry& resolved) {
  finish("running the plan");
  checks_steps_ = true;
  launch_all(resolved);
  checks_steps_ = false;
  resolved.has_run = true;
}

void CudaExecutor::capture(ResolvedEntry& resolved) {
  const auto lap = startup_.lap("capture");
  resolved.graph = captured(stream_.get(), [&] { launch_all(resolved); });
}

// ---- timed and watched

/// An event between every two steps; times are read when all is done.
void CudaExecutor::launch_profiled(ResolvedEntry& resolved) {
  std::vector<EventOwner> events;
  const auto mark = [&] {
    events.push_back(make_event(device_, true));
    check(driver().EventRecord(events.back().get(), stream_.get()), "timing a step");
  };
  note_run(resolved);
  mark();
  std::vector<size_t> run;
  for (size_t i = 0; i < resolved.launches.size(); ++i)
    if (takes(resolved, i)) launch_step(resolved, i), mark(), run.push_back(i);
  finish("running the plan");
  std::vector<StepTime>& times = times_[resolved.entry];
  for (size_t i = times.size(); i < resolved.launches.size(); ++i)
    times.push_back({resolved.entry, static_cast<int>(i), 0, 0});
  for (size_t i = 0; i < run.size(); ++i) {
    times[run[i]].seconds += seconds_between(events[i].get(), events[i + 1].get());
    ++times[run[i]].runs;
  }
}

std::vector<StepTime> CudaExecutor::profile() const {
  std::vector<StepTime> all;
  for (const PlanEntry& entry : plan_->entries)
    if (const auto times = times_.find(&entry); times != times_.end())
      std::ranges::copy_if(times->second, std::back_inserter(all),
                           [](const StepTime& time) { return time.runs > 0; });
  return all;
}

std::vector<ChoiceTaken> CudaExecutor::taken() const {
  std::vector<ChoiceTaken> all;
  for (const ResolvedEntry& resolved : cache_)
    for (size_t i = 0; i < resolved.taken.size(); ++i)
      if (resolved.taken[i] >= 0)
        all.push_back({resolved.entry, static_cast<int>(i), resolved.taken[i], resolved.values});
  return all;
}

/// Reads a buffer into the mirror; it is there when the stream has ended.
std::byte* CudaExecutor::show(size_t buffer, std::vector<std::byte>& mirror) {
  const Buffer& shown = plan_->buffers[buffer];
  mirror.resize(static_cast<size_t>(std::max<int64_t>(1, shown.bytes)));
  const auto held = static_cast<size_t>(
      host_[buffer] ? shown.bytes - resident_bytes(*plan_, plan_->states[static_cast<size_t>(shown.state)])
                    : 0);
  check(driver().MemcpyDtoHAsync(mirror.data() + held, addresses_[buffer] + held,
                                 static_cast<size_t>(shown.bytes) - held, stream_.get()),
        "reading a buffer");
  if (!host_[buffer]) return mirror.data();
  finish("reading a buffer");
  std::copy(host_[buffer], host_[buffer] + held, mirror.data());
  return mirror.data();
}

/// Waits after every step and passes its results to after_step.
void CudaExecutor::launch_watched(ResolvedEntry& resolved) {
  std::vector<std::vector<std::byte>> mirrors(plan_->buffers.size());
  std::vector<std::byte*> shown(plan_->buffers.size(), nullptr);
  finish("running the plan");
  for (size_t i = 0; i < resolved.launches.size(); ++i) {
    if (!takes(resolved, i)) continue;
    checks_steps_ = true;
    launch_step(resolved, i);
    checks_steps_ = false;
    for (const int written : resolved.entry->steps[i].writes) {
      const auto buffer = static_cast<size_t>(written);
      if (addresses_[buffer] == 0) continue;  // in a stage's memory
      shown[buffer] = show(buffer, mirrors[buffer]);
    }
    finish("reading a buffer");
    options_.after_step({*resolved.entry, static_cast<int>(i), resolved.values, shown});
  }
}

}  // namespace smelt::cuda
