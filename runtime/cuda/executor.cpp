#include "runtime/cuda/executor.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/cpu/memory.h"
#include "runtime/cuda/device_rates.h"
#include "runtime/cuda/stage_memory.h"
#include "runtime/engine/weights/initialize.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/session/index_faults.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/json_text.h"
#include "runtime/system/log.h"

namespace smelt::cuda {
namespace {

/// Captured graphs and their launches may take so much; a step of a graph takes about as much as said.
constexpr int64_t kGraphBudget = int64_t{512} << 20, kBytesAStep = 8192;

Device& open_device(int ordinal, Stopwatch& watch) {
  const auto lap = watch.lap("context");
  return Device::open(ordinal);
}

/// Key of the step alternatives in a checkpoint's record.
constexpr const char* kStepChoices = "alternatives";

double gib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

void check_memory(const Plan& plan, bool has_weights, int64_t ports, const Device& device) {
  ExecutorMemory need = executor_memory(plan);
  if (has_weights) need.states -= weight_bytes(plan);
  const int64_t total = need.total() + ports + kGemmWorkspace;
  const auto free = static_cast<int64_t>(device.free_bytes());
  if (total > free)
    fail_with(Status::out_of_memory,
              "the plan needs {} bytes of {} ({:.2f} GiB: states {:.2f}, arena {:.2f}, inputs and outputs "
              "{:.2f}), but {} "
              "({:.2f} GiB) are free: compile it with lower bounds",
              total, device.info().name, gib(total), gib(need.states), gib(need.arena), gib(ports), free,
              gib(free));
  if (const int64_t host = available_memory(); need.host > host)
    fail_with(Status::out_of_memory,
              "the plan keeps {} bytes of states ({:.2f} GiB) in the host's memory, but {} ({:.2f} GiB) are "
              "free there: compile it with less of them there (--offload-optimizer)",
              need.host, gib(need.host), host, gib(host));
}

/// Returns the addresses of all buffers for a run with ports in these places (CudaExecutor::run_at).
std::vector<DevicePointer> placed(const PlanEntry& entry, std::vector<DevicePointer> addresses,
                                  std::span<const DevicePointer> places) {
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t inputs = entry.inputs.size();
    const Port& port = i < inputs ? entry.inputs[i] : entry.outputs[i - inputs];
    if (places[i] != 0) addresses[static_cast<size_t>(port.buffer)] = places[i];
  }
  return addresses;
}

/// Nothing of these ports is copied.
void leave_in_places(ResolvedEntry& resolved, std::span<const DevicePointer> places) {
  resolved.places.assign(places.begin(), places.end());
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t inputs = resolved.input_bytes.size();
    if (places[i] != 0) (i < inputs ? resolved.input_bytes[i] : resolved.output_bytes[i - inputs]) = 0;
  }
}

}  // namespace

CudaExecutor::CudaExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options)
    : CudaExecutor(std::move(plan), options, nullptr) {}

/// Shares the weights. Those that the host has written are sent to the device first, and runs in progress are
/// waited for.
std::unique_ptr<Executor> CudaExecutor::share(const ExecutorOptions& options) {
  ExecutorOptions chosen = options;
  chosen.device = device_.info().ordinal;
  if (!chosen.allocator) chosen.allocator = options_.allocator;
  if (options.device != kDefaultDevice && options.device != chosen.device)
    fail("device {}: the weights that are to be shared lie on GPU {}", options.device, chosen.device);
  guarded([&] {
    states_.upload_all();
    finish("sending the states");
  });
  return std::unique_ptr<Executor>(new CudaExecutor(plan_, chosen, this));
}

CudaExecutor::CudaExecutor(std::shared_ptr<const Plan> plan, const ExecutorOptions& options,
                           const CudaExecutor* owner)
    : plan_(std::move(plan)), options_(options), device_(open_device(options.device, startup_)) {
  {
    const auto lap = startup_.lap("checks");
    validate(*plan_);  // sizes and places are used unchecked from here on
    const PortMemory ports = port_memory(*plan_);
    if (!options_.allocator)  // else it knows what there is
      check_memory(*plan_, owner != nullptr, ports.total + ports.slots() * ports.inputs, device_);
  }
  stream_ = make_stream(device_);
  caller_begin_ = make_event(device_), caller_end_ = make_event(device_);
  step_choices_ = std::make_unique<StepChoices>(
      cache_directory(), fmt::format("{} with driver {}", device_.info().name, driver_cuda_version()));
  {
    const auto lap = startup_.lap("modules");
    kernels_ = owner ? owner->kernels_ : std::make_shared<const LoadedKernels>(*plan_, device_);
  }
  allocate(owner);
  if (options_.ranks && plan_->mesh.ranks() > 1) {
    const auto lap = startup_.lap("ranks");
    require_mesh(*plan_, options_.ranks);
    connect_ranks();
  }
}

void CudaExecutor::connect_ranks() {
  collectives_ = std::make_unique<Collectives>(device_, *plan_, *options_.ranks);
  for (size_t axis = 0; axis < plan_->mesh.axes.size(); ++axis) {
    std::vector<SharedBlock> blocks = gathered_blocks(plan_->mesh.axes[axis]);
    if (!blocks.empty()) collectives_->share(axis, std::move(blocks));
  }
}

SharedBlock CudaExecutor::block_of(const Buffer& buffer) const {
  if (buffer.state >= 0) return states_.block(buffer.state);
  return in_arena(buffer.role) ? arena_ : ports_;
}

/// Returns the blocks that gathers and exchanges along the axis write to, each once: the same list at all its
/// ranks.
std::vector<SharedBlock> CudaExecutor::gathered_blocks(const MeshAxis& axis) const {
  std::vector<SharedBlock> blocks;
  for (const PlanEntry& entry : plan_->entries)
    for (const Step& step : entry.steps) {
      const auto* collective = std::get_if<CollectiveStep>(&step.what);
      if (!collective || !collective->writes_parts() || collective->axis != axis.name || axis.size == 1)
        continue;
      const SharedBlock block = block_of(plan_->buffers[static_cast<size_t>(collective->to.buffer)]);
      if (block.memory && std::ranges::find(blocks, block.memory, &SharedBlock::memory) == blocks.end())
        blocks.push_back(block);
    }
  return blocks;
}

CudaExecutor::~CudaExecutor() {
  device_.try_make_current();
  if (stream_) driver().StreamSynchronize(stream_.get());
}

void CudaExecutor::allocate(const CudaExecutor* owner) {
  const auto lap = startup_.lap("memory");
  const auto& allocator = options_.allocator;
  states_ = DeviceStates(device_, *plan_, stream_.get(), allocator, owner ? &owner->states_ : nullptr);
  index_faults_ = index_fault_states(*plan_);
  arena_ = shared_block(device_, executor_memory(*plan_).arena, allocator);
  random_ = RandomKeys(device_, *plan_, allocator);
  for (const Buffer& buffer : plan_->buffers) {
    DevicePointer base = 0;
    if (buffer.state >= 0) {
      base = states_.address(buffer.state);
    } else if (in_arena(buffer.role)) {
      base = arena_.address() + static_cast<DevicePointer>(buffer.offset_bytes);
    } else if (buffer.role == Role::constant) {
      constants_.push_back(device_block(device_, buffer.bytes, allocator));
      base = constants_.back().get();
      check(driver().MemcpyHtoDAsync(base, buffer.data.data(), buffer.data.size(), stream_.get()),
            "copying a constant");
    }
    addresses_.push_back(base);
    host_.push_back(buffer.state >= 0 ? states_.host(buffer.state) : nullptr);
  }
  if (std::ranges::any_of(host_, [](const std::byte* host) { return host != nullptr; }))
    host_copies_ = std::make_unique<HostCopies>(device_);
  const PortMemory ports = port_memory(*plan_);
  ports_ = shared_block(device_, ports.total, allocator);
  for (size_t i = 0; i < addresses_.size(); ++i)
    if (ports.offsets[i] >= 0)
      addresses_[i] = ports_.address() + static_cast<DevicePointer>(ports.offsets[i]);
  transfers_ = Transfers(device_, ports, allocator);
  finish("allocating");
}

void CudaExecutor::synchronize() {
  guarded([&] {
    finish("running the plan");
    check_indices();
  });
}

double CudaExecutor::copy_bytes_per_second() {
  return guarded([&] { return cuda::copy_bytes_per_second(device_, stream_.get()); });
}

double CudaExecutor::matrix_flops_per_second(DType dtype) {
  return guarded([&] { return cuda::matrix_flops_per_second(device_, stream_.get(), dtype); });
}

// ---- states

std::span<const std::byte> CudaExecutor::read_state(int index) {
  return guarded([&] {
    check_indices();  // who saves a state learns that a run before has filled it with wrong numbers
    return states_.read(index);
  });
}

std::span<std::byte> CudaExecutor::state(int index) {
  return guarded([&] { return states_.write(index); });
}

void CudaExecutor::clear_state(int index) {
  guarded([&] { states_.clear(index); });
}

void CudaExecutor::fill_state(int index, const MakePart& make) {
  const auto lap = startup_.lap("states");
  guarded([&] { states_.fill(index, make); });
}

void CudaExecutor::write_part(int index, int64_t begin, std::span<const std::byte> bytes) {
  guarded([&] { states_.write_part(index, begin, bytes); });
}

const KernelCode* CudaExecutor::find_kernel(std::string_view name) const {
  const auto found = std::ranges::find(plan_->kernels, name, &KernelCode::name);
  return found == plan_->kernels.end() ? nullptr : &*found;
}

void CudaExecutor::launch_template(const KernelCode& kernel, const LaunchValues& values) {
  const Function function = kernels_->functions()[static_cast<size_t>(&kernel - plan_->kernels.data())];
  const auto launch = launch_of(kernel, function, values);
  if (!launch) fail_with(Status::invalid_file, "kernel '{}' does not take this state", kernel.name);
  check(launch->run(stream_.get()), kernel.name.c_str());
}

bool CudaExecutor::initialize_state(int index, uint32_t seed) {
  const State& state = plan_->states[static_cast<size_t>(index)];
  const KernelCode* kernel = find_kernel(initialize_kernel_name(state));
  if (!kernel || states_.host(index)) return false;
  const auto lap = startup_.lap("states");
  int64_t groups = 0;
  const std::vector<InitialRow> rows = initial_rows(state, seed, state_bytes(*plan_, state), groups);
  guarded([&] {
    const auto bytes = static_cast<int64_t>(rows.size() * sizeof(InitialRow));
    const DeviceBlock table = device_block(device_, bytes, options_.allocator);
    states_.clear(index);  // what lies between the rows
    check(driver().MemcpyHtoDAsync(table.get(), rows.data(), static_cast<size_t>(bytes), stream_.get()),
          "sending initial values");
    launch_template(*kernel,
                    {.addresses = {{"state", states_.address(index)}, {"rows", table.get()}},
                     .integers = {{"row_count", static_cast<int64_t>(rows.size())}, {"groups", groups}}});
    states_.note_written(index);
    finish("making initial values");
  });
  return true;
}

void CudaExecutor::round_state(int from, int to, DType to_type) {
  const KernelCode* kernel = find_kernel(fmt::format("smelt_round_{}", smelt::name(to_type)));
  if (!kernel) return Executor::round_state(from, to, to_type);
  guarded([&] {
    states_.upload(from);
    const State& copy = plan_->states[static_cast<size_t>(to)];
    const int64_t count = state_bytes(*plan_, copy) / size_of(to_type);
    const std::byte* host = states_.host(from);
    const int64_t held = host ? plan_->states[static_cast<size_t>(from)].resident : 0;
    // Pinned memory has one address for both: the kernel reads the host's part over the bus.
    const auto round = [&](DevicePointer base, int64_t begin, int64_t elements) {
      if (elements == 0) return;
      const auto at = static_cast<DevicePointer>(begin);
      launch_template(
          *kernel,
          {.addresses = {{"from", base + at * sizeof(float)},
                         {"to", states_.address(to) + at * static_cast<DevicePointer>(size_of(to_type))}},
           .integers = {{"count", elements}}});
    };
    round(reinterpret_cast<DevicePointer>(host), 0, held);
    round(states_.address(from), held, count - held);
    states_.note_written(to);
  });
}

void CudaExecutor::mark_written(const PlanEntry& entry) {
  for (const Step& step : entry.steps)
    for (const int buffer : step.writes)
      if (const int state = plan_->buffers[static_cast<size_t>(buffer)].state; state >= 0)
        states_.note_written(state);
}

DevicePointer CudaExecutor::written_state(int index) {
  states_.upload(index);
  states_.note_written(index);
  return states_.address(index);
}

std::unique_ptr<StageMemory> CudaExecutor::stage_memory(const StageExchange& exchange) {
  if (!collectives_) fail("a stage of a pipeline needs the other stages' ranks");
  return guarded([&] {
    return std::make_unique<CudaStageMemory>(*this, options_.ranks->along(exchange.axis), exchange);
  });
}

// ---- shapes

ResolvedEntry& CudaExecutor::resolved(const PlanEntry& entry, const SymbolValues& symbols,
                                      std::span<const DevicePointer> places) {
  const auto same = [&](const ResolvedEntry& r) {
    return r.entry == &entry && r.values == symbols && std::ranges::equal(r.places, places);
  };
  const auto found = std::find_if(cache_.begin(), cache_.end(), same);
  if (found != cache_.end()) {
    cache_.splice(cache_.begin(), cache_, found);
    return cache_.front();
  }
  log(LogLevel::debug, "entry '{}' resolved for {}", entry.name, symbols);
  const auto lap = startup_.lap("sizes");
  const std::vector<DevicePointer> addresses = placed(entry, addresses_, places);
  const auto parts_of = [&](const CollectiveLaunch& launch) {
    return collectives_ ? collectives_->parts(launch) : Collectives::Parts{};
  };
  cache_.push_front(resolve(device_, *plan_, entry, symbols,
                            {kernels_->functions(), addresses, host_, random_}, options_.dependent_launches,
                            parts_of));
  leave_in_places(cache_.front(), places);
  forget_oldest();
  return cache_.front();
}

void CudaExecutor::forget_oldest() {
  int64_t bytes = 0;
  for (const ResolvedEntry& r : cache_) bytes += static_cast<int64_t>(r.launches.size()) * kBytesAStep;
  while (bytes > kGraphBudget && cache_.size() > 1) {
    finish("running the plan");  // the graph may still be in use
    bytes -= static_cast<int64_t>(cache_.back().launches.size()) * kBytesAStep;
    cache_.pop_back();
  }
}

GemmChoices& CudaExecutor::gemm_choices() {
  if (!choices_) choices_ = std::make_unique<GemmChoices>(cache_directory(), GemmPlace::of(device_));
  return *choices_;
}

/// Returns the choices of GEMM algorithms and of step alternatives.
std::string CudaExecutor::choices() const {
  std::string gemms = choices_ ? choices_->record() : "";
  const Json steps = step_choices_->record();
  if (steps.is_null()) return gemms;
  Json all = gemms.empty() ? Json::object() : Json::parse(gemms);
  all[kStepChoices] = steps;
  return all.dump();
}

/// Entries that chose before choose again.
std::string CudaExecutor::restore_choices(std::string_view choices) {
  if (choices.empty()) return {};
  return guarded([&]() -> std::string {
    finish("running the plan");
    cache_.clear();
    Json all = parse_json_or_null(choices);
    if (!all.is_object()) return "they do not read";
    std::string problem;
    if (all.contains(kStepChoices)) problem = step_choices_->restore(all[kStepChoices]);
    all.erase(kStepChoices);
    const std::string other = all.empty() ? "" : gemm_choices().restore(choices);
    return problem.empty() ? other : problem;
  });
}

void CudaExecutor::poison(const ResolvedEntry& resolved) {
  const auto ones = [&](DevicePointer to, int64_t bytes) {
    check(driver().MemsetD8Async(to, 0xFF, static_cast<size_t>(bytes), stream_.get()), "poisoning memory");
  };
  ones(arena_.address(), arena_.bytes);
  for (size_t i = 0; i < resolved.output_bytes.size(); ++i) {
    const Buffer& buffer = plan_->buffers[static_cast<size_t>(resolved.entry->outputs[i].buffer)];
    const bool is_placed = i + resolved.entry->inputs.size() < resolved.places.size() &&
                           resolved.places[i + resolved.entry->inputs.size()] != 0;
    if (buffer.role == Role::output && !is_placed)
      ones(addresses_[static_cast<size_t>(resolved.entry->outputs[i].buffer)], buffer.bytes);
  }
}

}  // namespace smelt::cuda
