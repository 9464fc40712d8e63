#include "runtime/session/executor.h"

#include <algorithm>

#include "runtime/base/convert.h"
#include "runtime/base/error.h"
#include "runtime/cpu/executor.h"
#include "runtime/cuda/executor.h"
#include "runtime/plan/device_kind.h"
#include "runtime/session/host_stage_memory.h"
#include "runtime/session/shared_weights.h"
#include "runtime/system/log.h"

namespace smelt {

int64_t state_bytes(const Plan& plan, const State& state) {
  return bytes_at_bounds(plan.symbols, element_count(state.shape), state.dtype);
}

int64_t resident_bytes(const Plan& plan, const State& state) {
  const bool all = state.resident < 0 || !device_kind(plan.target).own_memory;
  return state_bytes(plan, state) - (all ? 0 : state.resident * size_of(state.dtype));
}

ExecutorMemory executor_memory(const Plan& plan) {
  ExecutorMemory memory;
  for (const State& state : plan.states) {
    const int64_t resident = resident_bytes(plan, state);
    memory.states += resident;
    memory.host += state_bytes(plan, state) - resident;
  }
  for (const Buffer& buffer : plan.buffers) memory.constants += static_cast<int64_t>(buffer.data.size());
  for (const PlanEntry& entry : plan.entries) memory.arena = std::max(memory.arena, entry.arena_bytes);
  return memory;
}

int64_t weight_bytes(const Plan& plan) {
  const std::vector<bool> weights = weight_states(plan);
  int64_t bytes = 0;
  for (size_t i = 0; i < weights.size(); ++i) bytes += weights[i] ? state_bytes(plan, plan.states[i]) : 0;
  return bytes;
}

std::unique_ptr<Executor> make_executor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options) {
  const ExecutorMemory memory = executor_memory(*plan);
  log(LogLevel::info,
      "memory of a session: {} bytes of states ({} of weights), {} of constants, {} of arena; {} bytes of "
      "states "
      "in pinned memory of the host",
      memory.states, weight_bytes(*plan), memory.constants, memory.arena, memory.host);
  if (device_kind(plan->target).own_memory)
    return std::make_unique<cuda::CudaExecutor>(std::move(plan), options);
  if (options.device > 0)
    fail("device {}: the plan is for {}, whose only device is the host, 0", options.device, plan->target);
  return std::make_unique<CpuExecutor>(std::move(plan), options);
}

namespace {

/// The library is hundreds of megabytes: it is read while the context is made, and starts in that.
void prepare_gpu(int ordinal) {
  if (cuda::device_count() == 0) return;
  std::jthread reading([] {
    try {
      cuda::cublas_lt_info();
    } catch (const Error&) {  // the device's handle says it below
    }
  });
  const cuda::Device& device = cuda::Device::open(ordinal);
  reading.join();
  device.blas();
}

}  // namespace

std::jthread prepare_executor(std::string_view target, int device) {
  if (target == "cpu") return {};
  return std::jthread([device] {
    try {
      prepare_gpu(device);
    } catch (const Error&) {  // making an executor throws it again
    }
  });
}

std::unique_ptr<Executor> Executor::share(const ExecutorOptions& /*options*/) {
  fail("this session's executor shares no weights: expected one that make_executor has made");
}

std::string Executor::restore_choices(std::string_view choices) {
  return choices.empty() ? "" : "they were made on a GPU";
}

void Executor::repeat(const PlanEntry& entry, const SymbolValues& symbols,
                      std::span<const void* const> inputs, const Philox& random, int times) {
  const std::vector<void*> none(entry.outputs.size(), nullptr);
  for (int i = 0; i < times; ++i) run(entry, symbols, inputs, none, random);
}

void Executor::run_on_device(const PlanEntry& entry, const SymbolValues& symbols,
                             std::span<const void* const> inputs, std::span<void* const> outputs,
                             const Philox& random, const DevicePorts& ports) {
  if (ports.stream) fail("entry '{}': a plan for CPUs runs on no stream: expected null", entry.name);
  run(entry, symbols, inputs, outputs, random);
}

void Executor::clear_state(int index) { std::ranges::fill(state(index), std::byte{0}); }

void Executor::write_part(int index, int64_t begin, std::span<const std::byte> bytes) {
  std::ranges::copy(bytes, state(index).subspan(static_cast<size_t>(begin)).begin());
}

void Executor::round_state(int from, int to, DType to_type) {
  const auto exact = read_state(from);
  narrow(reinterpret_cast<const float*>(exact.data()), state(to).data(), to_type,
         static_cast<int64_t>(exact.size() / sizeof(float)));
}

std::unique_ptr<StageMemory> Executor::stage_memory(const StageExchange& exchange) {
  if (!ranks()) fail("a stage of a pipeline needs the other stages' ranks");
  return std::make_unique<HostStageMemory>(*this, ranks()->along(exchange.axis));
}

}  // namespace smelt
