#include "runtime/session/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/cpu/memory.h"
#include "runtime/cpu/threads.h"
#include "runtime/plan/device_kind.h"
#include "runtime/system/environment.h"
#include "runtime/system/log.h"

namespace smelt {
namespace {

template <typename List>
std::string names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back("'" + item.name + "'");
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string where(const PlanEntry& entry, std::string_view kind, std::string_view name) {
  return fmt::format("entry '{}', {} '{}'", entry.name, kind, name);
}

std::string declared(const Port& port) { return fmt::format("{}{}", name(port.dtype), str(port.shape)); }

const InputTensor* find(std::span<const InputTensor> inputs, std::string_view name) {
  const auto found = std::ranges::find(inputs, name, &InputTensor::name);
  return found == inputs.end() ? nullptr : &*found;
}

void check_names(const PlanEntry& entry, std::span<const InputTensor> inputs) {
  for (const InputTensor& input : inputs) {
    if (std::ranges::find(entry.inputs, input.name, &Port::name) == entry.inputs.end())
      fail("{}: no such input; there are: {}", where(entry, "input", input.name), names_of(entry.inputs));
    if (find(inputs, input.name) != &input) fail("{}: given twice", where(entry, "input", input.name));
  }
  for (const Port& port : entry.inputs)
    if (!port.optional && !find(inputs, port.name))
      fail("{}: missing; expected {}", where(entry, "input", port.name), declared(port));
}

/// A dim of one symbol that its size determines: of a sequence of which ranks have parts, 4*T; of one whose
/// parts are cut after rounding, 10*T - 4.
struct AffineSymbol {
  std::string symbol;
  int64_t factor = 1, offset = 0;
};
std::optional<AffineSymbol> affine_symbol(const Dim& dim) {
  AffineSymbol found;
  for (const Dim::Term& term : dim.terms())
    if (term.atoms.empty())
      found.offset = term.coefficient;
    else if (term.coefficient > 0 && term.atoms.size() == 1 && !term.atoms[0].inner && found.symbol.empty())
      found = {term.atoms[0].name, term.coefficient, found.offset};
    else
      return std::nullopt;
  return found.symbol.empty() ? std::nullopt : std::optional(found);
}

void check_type(const PlanEntry& entry, const Port& port, const InputTensor& input) {
  if (port.dtype != input.dtype || port.shape.size() != input.shape.size())
    fail("{}: expected {}, given {}", where(entry, "input", port.name), declared(port),
         describe(input.dtype, input.shape));
}

std::string multiple_of(int64_t factor, int64_t offset) {
  if (offset == 0) return fmt::format("a multiple of {}", factor);
  return fmt::format("a multiple of {} {} {}", factor, offset < 0 ? "less" : "plus", std::abs(offset));
}

void bind_symbols(const PlanEntry& entry, const Port& port, const InputTensor& input, SymbolValues& values) {
  for (size_t i = 0; i < port.shape.size(); ++i) {
    const auto affine = affine_symbol(port.shape[i]);
    if (!affine) continue;
    const auto& [symbol, factor, offset] = *affine;
    if ((input.shape[i] - offset) % factor != 0)
      fail("{}: expected {}, given {}: dimension {} should be {}", where(entry, "input", port.name),
           declared(port), describe(input.dtype, input.shape), i, multiple_of(factor, offset));
    const auto [place, fresh] = values.emplace(symbol, (input.shape[i] - offset) / factor);
    if (!fresh && place->second * factor + offset != input.shape[i])
      fail("{}: expected {} with {} = {} as in the inputs before it, given {}",
           where(entry, "input", port.name), declared(port), symbol, place->second,
           describe(input.dtype, input.shape));
  }
}

/// This rank's place in the mesh.
void bind_coordinates(const Plan& plan, const RankGroups* ranks, SymbolValues& values) {
  const std::vector<int64_t> place = plan.mesh.coordinates(ranks ? ranks->rank() : 0);
  for (size_t axis = 0; axis < place.size(); ++axis)
    if (const std::string symbol = coordinate(plan.mesh.axes[axis]); plan.symbols.declared(symbol))
      values[symbol] = place[axis];
}

void check_shape(const PlanEntry& entry, const Port& port, const InputTensor& input,
                 const SymbolValues& values) {
  for (size_t i = 0; i < port.shape.size(); ++i)
    if (const int64_t expected = port.shape[i].evaluate(values); expected != input.shape[i])
      fail("{}: expected {}, given {}: dimension {} should be {}", where(entry, "input", port.name),
           declared(port), describe(input.dtype, input.shape), i, expected);
}

template <typename T>
void check_range(std::span<const T> ids, const IdRange& range, const std::string& place) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (!range.holds(ids[i])) fail("{}: element {} is {}, expected {}", place, i, ids[i], str(range));
}

/// Checks that values fit in the 32-bit integers of kernels, which would silently truncate them.
void check_width(std::span<const int64_t> values, const std::string& place) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int32_t>(values[i]))
      fail("{}: element {} is {}, expected a number of 32 bits", place, i, values[i]);
}

/// Refuses device inputs whose values must be checked, because they cannot be read without a copy.
void check_device_values(const PlanEntry& entry, const Port& port, const InputTensor& input) {
  if (!port.ids && port.dtype != DType::i64) return;
  fail("{}: its {} lie on the GPU, where they are not checked: expected memory of the host",
       where(entry, "input", input.name), port.ids ? "ids" : "integers of 64 bits");
}

void check_values(const PlanEntry& entry, const Port& port, const InputTensor& input) {
  const auto count = static_cast<size_t>(count_elements(input.shape));
  const std::string place = where(entry, "input", port.name);
  if (!input.data && count > 0) fail("{}: its data pointer is null", place);
  if (port.dtype == DType::i64) {
    const std::span values(static_cast<const int64_t*>(input.data), count);
    check_width(values, place);
    if (port.ids) check_range(values, *port.ids, place);
  }
  if (port.dtype == DType::i32 && port.ids)
    check_range(std::span(static_cast<const int32_t*>(input.data), count), *port.ids, place);
}

std::vector<std::vector<int64_t>> shapes_of(std::span<const Port> ports, const SymbolValues& values) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Port& port : ports) {
    std::vector<int64_t>& shape = shapes.emplace_back();
    for (const Dim& dim : port.shape) shape.push_back(dim.evaluate(values));
  }
  return shapes;
}

int thread_count(const SessionOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads)
    fail("threads is {}: expected 0 to {}", options.threads, kMostThreads);
  return options.threads != 0 ? options.threads
                              : read_whole(EnvironmentVariable::SMELT_NUM_THREADS).value_or(0);
}

ExecutorOptions executor_options(const SessionOptions& options) {
  return {
      .threads = thread_count(options),
      .poison = options.poison,
      .profile = options.profile,
      .check_steps = options.check_steps || read_flag(EnvironmentVariable::SMELT_CHECK_STEPS).value_or(false),
      .dependent_launches = read_flag(EnvironmentVariable::SMELT_DEPENDENT_LAUNCHES).value_or(true),
      .device = options.device,
      .ranks = options.ranks,
      .allocator = options.allocator,
      .after_step = options.after_step};
}

void require_host(const PlanEntry& entry, std::span<const InputTensor> inputs) {
  for (const InputTensor& input : inputs)
    if (input.on_device)
      fail("{}: it lies on the device, and this kind of run takes memory of the host",
           where(entry, "input", input.name));
}

constexpr int64_t kSmallOutputs = int64_t{64} << 20;

}  // namespace

/// One call of run: where everything is.
struct Session::Run {
  const PlanEntry& entry;
  SymbolValues symbols;
  std::vector<const void*> inputs;
  std::vector<std::vector<int64_t>> shapes;  // of the outputs
  std::vector<void*> outputs;
  DevicePorts device;  // of all ports, where is_on_device
  bool is_on_device = false;
  int64_t bytes(size_t output) const {
    return count_elements(shapes[output]) * size_of(entry.outputs[output].dtype);
  }
};

Session::Session(std::shared_ptr<const Plan> plan, const SessionOptions& options)
    : Session(plan, make_executor(plan, executor_options(options)), options.seed) {}

Session::Session(std::shared_ptr<const Plan> plan, std::unique_ptr<Executor> executor, uint32_t seed)
    : plan_(std::move(plan)), executor_(std::move(executor)) {
  random_.seed = seed;
  handed_out_.assign(plan_->states.size(), true);
}

std::unique_ptr<Session> Session::share(const SessionOptions& options) {
  require_unwritten_weights(*plan_);
  refresh_copies();
  ExecutorOptions shared = executor_options(options);
  if (!shared.ranks) shared.ranks = executor_->ranks();
  auto other = std::make_unique<Session>(plan_, executor_->share(shared), options.seed);
  other->users_ = users_;
  log(LogLevel::info, "{} bytes of weights are shared by {} sessions", weight_bytes(*plan_), users_.count());
  for (size_t i = 0; i < plan_->states.size(); ++i)
    if (weight_states(*plan_)[i]) other->handed_out_[i] = false;
  return other;
}

const PlanEntry& Session::entry(std::string_view name) const {
  const PlanEntry* entry = plan_->find_entry(name);
  if (!entry) fail("the plan has no entry '{}'; there are: {}", name, names_of(plan_->entries));
  return *entry;
}

SymbolValues Session::unify(const PlanEntry& entry, std::span<const InputTensor> inputs) const {
  check_names(entry, inputs);
  SymbolValues values;
  for (const Port& port : entry.inputs)
    if (const InputTensor* input = find(inputs, port.name)) {
      check_type(entry, port, *input);
      bind_symbols(entry, port, *input, values);
    }
  bind_coordinates(*plan_, ranks(), values);
  for (const std::string& name : plan_->symbols.names()) values.emplace(name, 1);
  for (const Port& port : entry.inputs)
    if (const InputTensor* input = find(inputs, port.name)) check_shape(entry, port, *input, values);
  try {
    plan_->symbols.check(values);
  } catch (const Error& error) {
    fail("entry '{}': {}; give other sizes, or compile with larger bounds (--max, or max= in Python)",
         entry.name, error.what());
  }
  return values;
}

std::vector<std::vector<int64_t>> Session::output_shapes(std::string_view name,
                                                         std::span<const InputTensor> inputs) const {
  return shapes_of(entry(name).outputs, unify(entry(name), inputs));
}

void Session::execute(Run& run) {
  refresh_copies();
  if (run.is_on_device)
    executor_->run_on_device(run.entry, run.symbols, run.inputs, run.outputs, random_, run.device);
  else
    executor_->run(run.entry, run.symbols, run.inputs, run.outputs, random_);
  has_run_ = true;
}

Session::Run Session::prepare(std::string_view name, std::span<const InputTensor> inputs) {
  const PlanEntry& found = entry(name);
  Run run{.entry = found,
          .symbols = unify(found, inputs),
          .inputs = {},
          .shapes = {},
          .outputs = {},
          .device = {}};
  const bool has_gpu = device_kind(plan_->target).own_memory;
  for (const Port& port : found.inputs) {
    const InputTensor* input = find(inputs, port.name);
    run.device.inputs.push_back(input && input->on_device);
    run.is_on_device |= run.device.inputs.back();
    if (input && input->on_device && has_gpu)
      check_device_values(found, port, *input);
    else if (input)
      check_values(found, port, *input);
    run.inputs.push_back(input ? input->data : nullptr);
  }
  run.device.outputs.assign(found.outputs.size(), false);
  run.shapes = shapes_of(found.outputs, run.symbols);
  run.outputs.assign(found.outputs.size(), nullptr);
  return run;
}

/// Checks that memory suffices, because pages are allocated at their first write: without this check the
/// system could kill the process in the middle of the run.
void Session::require_memory_of_outputs(const Run& run) const {
  int64_t outputs = 0;
  for (size_t i = 0; i < run.outputs.size(); ++i) outputs += run.bytes(i);
  if (has_run_ && outputs < kSmallOutputs) return;  // asking the system takes as long as a small run
  const bool waiting = !has_run_ && !device_kind(plan_->target).own_memory;
  const int64_t arena = waiting ? executor_memory(*plan_).arena : 0, available = available_memory();
  if (outputs > available - arena)
    fail_with(
        Status::out_of_memory,
        "entry '{}': its outputs need {} bytes and the arena {} more, but {} are free: give less at once, "
        "or compile with lower bounds (--max, or max= in Python)",
        run.entry.name, outputs, arena, available);
}

std::vector<HostTensor> Session::run(std::string_view name, std::span<const InputTensor> inputs) {
  Run run = prepare(name, inputs);
  require_memory_of_outputs(run);
  std::vector<HostTensor> results;
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    const Port& port = run.entry.outputs[i];
    results.push_back({port.name, port.dtype, run.shapes[i], {}});
    results[i].bytes.resize(static_cast<size_t>(run.bytes(i)));
    run.outputs[i] = results[i].bytes.data();
  }
  execute(run);
  return results;
}

std::vector<std::vector<int64_t>> Session::run(std::string_view name, std::span<const InputTensor> inputs,
                                               std::span<const OutputBuffer> outputs,
                                               const RunOptions& options) {
  Run run = prepare(name, inputs);
  run.device.stream = options.stream;
  run.device.in_place = options.in_place, run.device.in_place_again = options.in_place_again;
  run.is_on_device |= options.stream != nullptr;
  std::vector<std::vector<int64_t>> shapes;
  for (const OutputBuffer& output : outputs) {
    const auto& ports = run.entry.outputs;
    const auto port = std::ranges::find(ports, output.name, &Port::name);
    if (port == ports.end())
      fail("{}: no such output; there are: {}", where(run.entry, "output", output.name), names_of(ports));
    const auto i = static_cast<size_t>(port - ports.begin());
    if (run.outputs[i] || !output.data)
      fail("{}: {}", where(run.entry, "output", output.name),
           output.data ? "asked for twice" : "its data pointer is null");
    if (output.bytes < run.bytes(i))
      fail("{}: {} need {} bytes, the memory given holds {}", where(run.entry, "output", output.name),
           describe(port->dtype, run.shapes[i]), run.bytes(i), output.bytes);
    run.outputs[i] = output.data;
    run.device.outputs[i] = output.on_device;
    run.is_on_device |= output.on_device;
    shapes.push_back(run.shapes[i]);
  }
  execute(run);
  return shapes;
}

std::vector<HostTensor> Session::run(std::string_view name, const SymbolValues& sizes,
                                     std::span<const InputTensor> inputs, StageMemory& memory,
                                     const PlaceOf& place_of) {
  const PlanEntry& found = entry(name);
  require_host(found, inputs);
  StageMemory::Ports ports;
  for (const Port& port : found.inputs) {
    ports.input_places.push_back(place_of(port));
    const InputTensor* input =
        ports.input_places.back() == StageMemory::kHost ? find(inputs, port.name) : nullptr;
    if (input)
      check_type(found, port, *input), check_shape(found, port, *input, sizes),
          check_values(found, port, *input);
    ports.inputs.push_back(input ? input->data : nullptr);
  }
  std::vector<HostTensor> results;
  results.reserve(found.outputs.size());
  for (const Port& port : found.outputs) {
    ports.output_places.push_back(place_of(port));
    ports.outputs.push_back(nullptr);
    if (ports.output_places.back() != StageMemory::kHost) continue;
    results.push_back({port.name, port.dtype, shapes_of({&port, 1}, sizes)[0], {}});
    results.back().bytes.resize(
        static_cast<size_t>(count_elements(results.back().shape) * size_of(port.dtype)));
    ports.outputs.back() = results.back().bytes.data();
  }
  refresh_copies();
  memory.run(found, sizes, ports, random_);
  has_run_ = true;
  return results;
}

void Session::repeat(std::string_view name, std::span<const InputTensor> inputs, int times) {
  require_host(entry(name), inputs);
  const Run run = prepare(name, inputs);
  refresh_copies();
  executor_->repeat(run.entry, run.symbols, run.inputs, random_, times);
  has_run_ = true;
}

std::span<std::byte> Session::peek(std::string_view name) {
  const int index = state_index(name);
  if (plan_->states[static_cast<size_t>(index)].role != Role::stream)
    fail("state '{}': expected one of the role stream", name);
  return executor_->peek(index);
}

void Session::set_random(uint32_t seed, int64_t step, int64_t micro_step) {
  random_ = {.seed = seed,
             .step = static_cast<uint32_t>(step),
             .micro_step = static_cast<uint32_t>(micro_step) << 16};
}

}  // namespace smelt
