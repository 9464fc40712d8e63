#include "runtime/cpu/executor.h"

#include <cblas.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/cpu/blas_core.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/features.h"
#include "runtime/cpu/threads.h"
#include "runtime/plan/choices.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/session/index_faults.h"
#include "runtime/session/shared_weights.h"
#include "runtime/system/log.h"

namespace smelt {
namespace {

constexpr size_t kCachedShapes = 32;
constexpr uintptr_t kArenaAlignment = 64;

bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % kArenaAlignment == 0; }

/// An application that embeds the library has to set it before it starts.
void note_slow_blas() {
  if (const std::string core = better_blas_core(); !core.empty())
    log(LogLevel::warning, "OpenBLAS multiplies with kernels for {}: set {}={} for those of this processor",
        openblas_get_corename(), kBlasCoreVariable, core);
}

double gib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

/// Sets the number of threads of kernels and BLAS for one run.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(team_threads(threads > 0 ? threads : before_));
  }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

void check_target(const Plan& plan) {
  const std::string architecture = host_architecture();
  const std::string own = "cpu-" + architecture;
  if (!plan.target.starts_with(own) && plan.target != "cpu" && !plan.target.empty())
    fail("the plan is for {}, this machine is cpu-{}: compile it again for this machine", plan.target,
         architecture);
  const std::vector<std::string> host = host_features();
  for (const std::string& feature : plan.features)
    if (std::find(host.begin(), host.end(), feature) == host.end())
      fail(
          "the plan is for {} and needs {}, which this processor does not have: compile it again for this "
          "machine",
          plan.target, feature);
}

void check_memory(const Plan& plan, bool has_weights) {
  ExecutorMemory need = executor_memory(plan);
  if (has_weights) need.states -= weight_bytes(plan);
  const int64_t available = available_memory();
  if (need.total() > available)
    fail_with(Status::out_of_memory,
              "the plan needs {} bytes ({:.2f} GiB: states {:.2f}, arena {:.2f}), but {} ({:.2f} GiB) are "
              "free: compile it with lower bounds",
              need.total(), gib(need.total()), gib(need.states), gib(need.arena), available, gib(available));
}

bool multiplies(const PlanEntry& entry) {
  return std::ranges::any_of(entry.steps,
                             [](const Step& step) { return std::holds_alternative<GemmStep>(step.what); });
}

/// Reserves BLAS buffers: attention and products of small matrices multiply in all threads concurrently.
void hold_buffers(const Plan& plan, int threads) {
  const bool attends = std::ranges::any_of(
      plan.kernels, [](const KernelCode& kernel) { return kernel.attention.has_value(); });
  if (attends || std::ranges::any_of(plan.entries, multiplies))
    hold_blas_buffers(std::min(threads > 0 ? threads : omp_get_max_threads(), kMostThreads));
}

/// Nothing is measured here.
bool runs(const ResolvedEntry& resolved, size_t step) {
  const Step& asked = resolved.entry->steps[step];
  if (asked.choice < 0) return true;
  const Choice& choice = resolved.entry->choices[static_cast<size_t>(asked.choice)];
  return asked.alternative == unmeasured_alternative(choice, resolved.values);
}

}  // namespace

CpuExecutor::CpuExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options)
    : CpuExecutor(std::move(plan), options, nullptr) {}

std::unique_ptr<Executor> CpuExecutor::share(const ExecutorOptions& options) {
  ExecutorOptions chosen = options;
  if (!chosen.allocator) chosen.allocator = options_.allocator;
  return std::unique_ptr<Executor>(new CpuExecutor(plan_, chosen, this));
}

CpuExecutor::CpuExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options,
                         const CpuExecutor* owner)
    : plan_(std::move(plan)), options_(options) {
  check_target(*plan_);
  if (!owner) note_slow_blas();
  validate(*plan_);  // sizes and places are used unchecked from here on
  if (!options_.allocator) check_memory(*plan_, owner != nullptr);  // else it knows what there is
  if (owner)
    code_ = owner->code_, functions_ = owner->functions_;
  else
    load_code();
  hold_buffers(*plan_, options_.threads);
  make_states(owner);
  allocate();
  index_faults_ = index_fault_states(*plan_);
}

void CpuExecutor::load_code() {
  if (plan_->kernels.empty()) return;
  if (plan_->binary.empty())
    fail_with(Status::invalid_file, "the plan has {} kernels and no machine code: compile it again",
              plan_->kernels.size());
  code_ = std::make_shared<const SharedObject>(plan_->binary);
  const auto function = [&](const std::string& name) {
    return reinterpret_cast<KernelFunction>(code_->symbol(name));
  };
  for (const KernelCode& kernel : plan_->kernels)
    functions_.push_back(
        {function(kernel.name), kernel.attention ? function(kernel.name + ".sees") : nullptr});
}

void CpuExecutor::make_states(const CpuExecutor* owner) {
  const std::vector<bool> weights = weight_states(*plan_);
  for (size_t i = 0; i < weights.size(); ++i)
    states_.push_back(owner && weights[i] ? owner->states_[i]
                                          : std::make_shared<const Block>(
                                                state_bytes(*plan_, plan_->states[i]), options_.allocator));
}

void CpuExecutor::allocate() {
  // never null
  arena_ = Block(executor_memory(*plan_).arena + static_cast<int64_t>(kArenaAlignment), options_.allocator);
  for (const Buffer& buffer : plan_->buffers) {
    std::byte* base = nullptr;
    if (buffer.state >= 0) {
      base = states_[static_cast<size_t>(buffer.state)]->data();
    } else if (in_arena(buffer.role)) {
      base = arena_.data() + buffer.offset_bytes;
    } else if (buffer.role == Role::constant) {
      constants_.emplace_back(std::max<int64_t>(1, buffer.bytes), options_.allocator);
      std::copy(buffer.data.begin(), buffer.data.end(), constants_.back().data());
      base = constants_.back().data();
    }
    fixed_.push_back(base);
  }
  bound_ = fixed_;
}

std::span<std::byte> CpuExecutor::state(int index) {
  if (index < 0 || index >= static_cast<int>(states_.size()))
    fail("state {}: expected one of the plan's {}", index, states_.size());
  return states_[static_cast<size_t>(index)]->bytes();
}

ResolvedEntry& CpuExecutor::resolved(const PlanEntry& entry, const SymbolValues& symbols) {
  const auto same = [&](const ResolvedEntry& r) { return r.entry == &entry && r.values == symbols; };
  const auto found = std::find_if(cache_.begin(), cache_.end(), same);
  if (found != cache_.end()) {
    cache_.splice(cache_.begin(), cache_, found);
    return cache_.front();
  }
  require_ranks(*plan_, entry, options_.ranks);
  log(LogLevel::debug, "entry '{}' resolved for {}", entry.name, symbols);
  if (cache_.size() == kCachedShapes) cache_.pop_back();
  return cache_.emplace_front(resolve(*plan_, entry, symbols, functions_, fixed_));
}

std::byte* CpuExecutor::staging(int buffer) {
  const auto [place, fresh] = staging_.try_emplace(buffer);
  if (fresh)
    place->second =
        Block(std::max<int64_t>(1, plan_->buffers[static_cast<size_t>(buffer)].bytes), options_.allocator);
  return place->second.data();
}

void CpuExecutor::bind_inputs(const ResolvedEntry& resolved, std::span<const void* const> inputs) {
  const auto& ports = resolved.entry->inputs;
  if (inputs.size() != ports.size())
    fail("entry '{}' is given {} inputs: expected {}", resolved.entry->name, inputs.size(), ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    std::byte*& place = bound_[static_cast<size_t>(ports[i].buffer)];
    if (!inputs[i] && !ports[i].optional && resolved.inputs[i].bytes > 0)
      fail("entry '{}' is run without its input '{}'", resolved.entry->name, ports[i].name);
    if (inputs[i] && is_aligned(inputs[i]) && resolved.inputs[i].whole_buffer) {
      place = const_cast<std::byte*>(static_cast<const std::byte*>(inputs[i]));  // steps never write inputs
      continue;
    }
    place = staging(ports[i].buffer);
    const size_t bytes = static_cast<size_t>(resolved.inputs[i].bytes);
    if (inputs[i])
      std::memcpy(place, inputs[i], bytes);
    else
      fill(place, resolved.inputs[i].bytes / size_of(ports[i].dtype), ports[i].dtype, ports[i].fill);
  }
}

void CpuExecutor::bind_outputs(const ResolvedEntry& resolved, std::span<void* const> outputs) {
  const auto& ports = resolved.entry->outputs;
  if (outputs.size() != ports.size())
    fail("entry '{}' is given {} outputs: expected {}", resolved.entry->name, outputs.size(), ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    if (fixed_[static_cast<size_t>(ports[i].buffer)]) continue;  // copied out at the end
    const bool direct = outputs[i] && is_aligned(outputs[i]) && resolved.outputs[i].whole_buffer;
    bound_[static_cast<size_t>(ports[i].buffer)] =
        direct ? static_cast<std::byte*>(outputs[i]) : staging(ports[i].buffer);
  }
}

void CpuExecutor::copy_outputs(const ResolvedEntry& resolved, std::span<void* const> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::byte* from = bound_[static_cast<size_t>(resolved.entry->outputs[i].buffer)];
    if (outputs[i] && outputs[i] != from)
      std::memcpy(outputs[i], from, static_cast<size_t>(resolved.outputs[i].bytes));
  }
}

void CpuExecutor::poison(const ResolvedEntry& resolved) {
  std::memset(arena_.data(), 0xFF, arena_.bytes().size());
  for (size_t i = 0; i < resolved.outputs.size(); ++i) {
    const int buffer = resolved.entry->outputs[i].buffer;
    if (!fixed_[static_cast<size_t>(buffer)])
      std::memset(bound_[static_cast<size_t>(buffer)], 0xFF, static_cast<size_t>(resolved.outputs[i].bytes));
  }
}

void CpuExecutor::run(const PlanEntry& entry, const SymbolValues& symbols,
                      std::span<const void* const> inputs, std::span<void* const> outputs,
                      const Philox& random) {
  const ThreadCount threads(options_.threads);
  ResolvedEntry& ready = resolved(entry, symbols);
  bind_inputs(ready, inputs);
  bind_outputs(ready, outputs);
  for (const ResolvedEntry::Patch& patch : ready.patches)
    *patch.pointer = bound_[static_cast<size_t>(patch.buffer)] + patch.offset_bytes;
  if (options_.poison) poison(ready);
  for (const int fault : index_faults_) clear_state(fault);  // a run that was ended early may have left one
  launch_all(ready, random);
  copy_outputs(ready, outputs);
  check_indices();
}

void CpuExecutor::check_indices() const {
  IndexFaults faults;
  for (const int index : index_faults_) {
    IndexFault found;
    std::memcpy(&found, states_[static_cast<size_t>(index)]->data(), sizeof found);
    faults.add(plan_->states[static_cast<size_t>(index)], found);
  }
  faults.check();
}

void CpuExecutor::launch_all(const ResolvedEntry& resolved, const Philox& random) {
  const StepRun state{random, options_.ranks};
  if (options_.after_step) return launch_watched(resolved, random);
  if (!options_.profile) {
    for (size_t i = 0; i < resolved.launches.size(); ++i)
      if (runs(resolved, i)) resolved.launches[i](state);
    return;
  }
  std::vector<StepTime>& times = times_[resolved.entry];
  for (size_t i = times.size(); i < resolved.launches.size(); ++i)
    times.push_back({resolved.entry, static_cast<int>(i), 0, 0});
  for (size_t i = 0; i < resolved.launches.size(); ++i) {
    if (!runs(resolved, i)) continue;
    const auto begin = std::chrono::steady_clock::now();
    resolved.launches[i](state);
    times[i].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++times[i].runs;
  }
}

void CpuExecutor::launch_watched(const ResolvedEntry& resolved, const Philox& random) {
  const StepRun state{random, options_.ranks};
  for (size_t i = 0; i < resolved.launches.size(); ++i) {
    if (!runs(resolved, i)) continue;
    resolved.launches[i](state);
    options_.after_step({*resolved.entry, static_cast<int>(i), resolved.values, bound_});
  }
}

std::vector<StepTime> CpuExecutor::profile() const {
  std::vector<StepTime> all;
  for (const PlanEntry& entry : plan_->entries)
    if (const auto times = times_.find(&entry); times != times_.end())
      std::ranges::copy_if(times->second, std::back_inserter(all),
                           [](const StepTime& time) { return time.runs > 0; });
  return all;
}

}  // namespace smelt
