#include "compiler/python/session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "compiler/python/arrays.h"
#include "compiler/python/bindings.h"
#include "compiler/python/device_tensor.h"
#include "runtime/engine/training/calibration.h"
#include "runtime/plan/device_kind.h"
#include "runtime/session/session_weights.h"

namespace smelt::python {
namespace {

struct SessionArguments {
  std::optional<std::string> weights, device;
  bool from_scratch = false;
  int threads = 0;
  uint32_t seed = 0;
  bool check_steps = false;
};

/// "cuda" or "cuda:1"; nothing where it is neither.
std::optional<int> gpu_number(std::string_view device) {
  constexpr std::string_view kGpu = "cuda";
  if (device == kGpu) return -1;
  if (!device.starts_with("cuda:")) return std::nullopt;
  const std::string_view digits = device.substr(kGpu.size() + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size() && number >= 0;
  return whole ? std::optional(number) : std::nullopt;
}

/// The number of the GPU; -1: any, or the plan is for CPUs.
int device_number(const Plan& plan, const std::optional<std::string>& device) {
  const bool on_gpu = device_kind(plan.target).own_memory;
  if (!device) return -1;
  const auto number = gpu_number(*device);
  if (!number && *device != "cpu") fail("device '{}': expected cpu, cuda or cuda:N", *device);
  if (number.has_value() != on_gpu)
    fail("device '{}': the plan is for {}; compile with target='{}'", *device, plan.target,
         on_gpu ? "cpu" : "cuda");
  return number.value_or(-1);
}

std::unique_ptr<BoundSession> open(const std::shared_ptr<const CompiledPlan>& compiled,
                                   const SessionArguments& arguments) {
  auto bound = std::make_unique<BoundSession>();
  bound->compiled = compiled, bound->seed = arguments.seed;
  released([&] {
    std::optional<cli::Weights> weights;
    if (arguments.weights)
      weights = cli::weights_at(*arguments.weights);
    else if (!arguments.from_scratch)
      weights = compiled->weights;
    if (weights) bound->note = std::exchange(weights->note, {});
    bound->weights = weights ? weights->tensors->path().string() : "initial values";
    cli::WeightFlags flags;
    flags.from_scratch = !weights, flags.seed = arguments.seed;
    const SessionOptions options{.threads = arguments.threads,
                                 .seed = arguments.seed,
                                 .check_steps = arguments.check_steps,
                                 .device = device_number(*compiled->plan, arguments.device)};
    bound->session = cli::open_session(model_of(*compiled, std::move(weights)), flags, options);
  });
  return bound;
}

std::unique_ptr<BoundSession> share(BoundSession& bound) {
  auto other = std::make_unique<BoundSession>();
  other->compiled = bound.compiled, other->weights = bound.weights, other->seed = bound.seed;
  other->session = alone(bound, [&](Session& session) { return session.share({.seed = bound.seed}); });
  return other;
}

nb::dict by_name(std::vector<HostTensor> tensors) {
  nb::dict dict;
  for (HostTensor& tensor : tensors) {
    const nb::str name(tensor.name.c_str());
    dict[name] = nb::cast(std::move(tensor));
  }
  return dict;
}

/// Returns the devices that arrays may be on for this plan.
ArrayDevices devices_of(const BoundSession& bound) {
  return device_kind(bound.compiled->plan->target).own_memory ? ArrayDevices::host_and_gpu
                                                              : ArrayDevices::host;
}

/// Ids of 64 bits, as other libraries have them, are not converted unasked.
void check_ids(const PlanEntry& entry, const std::vector<InputTensor>& inputs) {
  for (const InputTensor& input : inputs) {
    const auto port = std::ranges::find(entry.inputs, input.name, &Port::name);
    if (port != entry.inputs.end() && port->dtype == DType::i32 && input.dtype == DType::i64)
      fail("entry '{}', input '{}': expected i32{}, given {}; smelt.as_ids(x) converts", entry.name,
           input.name, str(port->shape), describe(input.dtype, input.shape));
  }
}

InputArrays inputs_of(const BoundSession& bound, const std::string& entry, const nb::dict& arrays) {
  InputArrays inputs = input_arrays(arrays, devices_of(bound));
  if (const PlanEntry* found = bound.compiled->plan->find_entry(entry)) check_ids(*found, inputs.tensors);
  return inputs;
}

/// Runs an entry with all outputs on the host.
std::vector<HostTensor> run_to_host(Session& session, const std::string& entry, const InputArrays& inputs,
                                    void* stream) {
  std::vector<HostTensor> results;
  std::vector<OutputBuffer> buffers;
  const auto shapes = session.output_shapes(entry, inputs.tensors);
  const auto& ports = session.entry(entry).outputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto bytes = count_elements(shapes[i]) * size_of(ports[i].dtype);
    results.push_back(
        {ports[i].name, ports[i].dtype, shapes[i], std::vector<std::byte>(static_cast<size_t>(bytes))});
    if (bytes > 0) buffers.push_back({ports[i].name, results.back().bytes.data(), bytes});
  }
  session.run(entry, inputs.tensors, buffers, {.stream = stream});
  return results;
}

/// `stream`: of the session's GPU; 0: the default stream, with which inputs on the GPU alone order the run.
std::vector<HostTensor> run_on(Session& session, const std::string& entry, const InputArrays& inputs,
                               uintptr_t stream) {
  if (stream == 0) return session.run(entry, inputs.tensors);
  return run_to_host(session, entry, inputs, reinterpret_cast<void*>(stream));
}

nb::dict run(BoundSession& bound, const std::string& entry, const nb::dict& arrays, uintptr_t stream) {
  const InputArrays inputs = inputs_of(bound, entry, arrays);
  return by_name(alone(bound, [&](Session& session) { return run_on(session, entry, inputs, stream); }));
}

/// Outputs stay on the GPU; of a plan for CPUs they are the host's, as ever.
nb::dict run_to_device(BoundSession& bound, const std::string& entry, const nb::dict& arrays,
                       uintptr_t stream) {
  const InputArrays inputs = inputs_of(bound, entry, arrays);
  if (devices_of(bound) == ArrayDevices::host) return run(bound, entry, arrays, stream);
  auto tensors = alone(bound, [&](Session& session) {
    return DeviceTensor::run(session, entry, inputs.tensors, reinterpret_cast<void*>(stream));
  });
  nb::dict dict;
  for (DeviceTensor& tensor : tensors) {
    const nb::str name(tensor.name().c_str());
    dict[name] = nb::cast(std::move(tensor));
  }
  return dict;
}

/// The type and shape of memory for an output must be those of the output.
void check_output(const PlanEntry& entry, std::span<const std::vector<int64_t>> shapes,
                  const OutputArray& output) {
  const auto port = std::ranges::find(entry.outputs, output.name, &Port::name);
  if (port == entry.outputs.end()) return;  // the session says so
  const auto& shape = shapes[static_cast<size_t>(port - entry.outputs.begin())];
  if (output.dtype != port->dtype || output.shape != shape)
    fail("entry '{}', output '{}': it is {}, the memory given is {}", entry.name, output.name,
         describe(port->dtype, shape), describe(output.dtype, output.shape));
}

/// `step`: of its random numbers; nothing: that of the last run.
void run_into(BoundSession& bound, const std::string& entry, const nb::dict& arrays, const nb::dict& out,
              uintptr_t stream, std::optional<int64_t> step) {
  const InputArrays inputs = inputs_of(bound, entry, arrays);
  std::vector<OutputArray> outputs;
  for (const auto& [name, array] : out)
    outputs.push_back(output_array(nb::cast<std::string>(name), array, devices_of(bound)));
  require_apart(inputs.tensors, outputs);
  alone(bound, [&](Session& session) {
    const auto shapes = session.output_shapes(entry, inputs.tensors);
    std::vector<OutputBuffer> buffers;
    for (const OutputArray& output : outputs) {
      check_output(session.entry(entry), shapes, output);
      buffers.push_back({output.name, output.owner.data(), output.bytes(), output.on_device});
    }
    if (step) session.set_random(bound.seed, *step);
    session.run(entry, inputs.tensors, buffers,
                {.stream = reinterpret_cast<void*>(stream), .in_place_again = true});
  });
}

/// Returns the type and shape of every output, for inputs like these.
nb::dict output_shapes(BoundSession& bound, const std::string& entry, const nb::dict& arrays) {
  const InputArrays inputs = inputs_of(bound, entry, arrays);
  const auto shapes =
      for_reading(bound, [&](Session& session) { return session.output_shapes(entry, inputs.tensors); });
  const auto& ports = bound.session->entry(entry).outputs;
  nb::dict dict;
  for (size_t i = 0; i < ports.size(); ++i) {
    const nb::str port(ports[i].name.c_str());
    dict[port] = nb::make_tuple(std::string(name(ports[i].dtype)), shapes[i]);
  }
  return dict;
}

/// Bounds of activations that have their initial values are calibrated by the first batch, as by the Trainer.
void calibrate_once(BoundSession& bound, Session& session, const InputArrays& inputs) {
  if (inputs.tensors.empty()) return;
  if (!std::exchange(bound.calibrated, true)) calibrate_bounds(session, inputs.tensors);
}

/// An entry of training: its random numbers are those of this step.
nb::dict train(BoundSession& bound, const std::string& entry, const nb::dict& arrays,
               std::optional<float> rate, int64_t step, int64_t micro_step, uintptr_t stream) {
  const InputArrays inputs = inputs_of(bound, entry, arrays);
  return by_name(alone(bound, [&](Session& session) {
    const PlanEntry& found = session.entry(entry);
    session.unify(found, inputs.tensors);
    calibrate_once(bound, session, inputs);
    if (rate) session.scalar("learning_rate") = *rate;
    session.set_random(bound.seed, step, micro_step);
    return run_on(session, entry, inputs, stream);
  }));
}

nb::dict state_dict(BoundSession& bound) {
  return by_name(for_reading(bound, [](Session& session) { return weights_of(session); }));
}

/// The names that the plan has no use for, which are allowed where this is not strict.
std::vector<std::string> load_state_dict(BoundSession& bound, const nb::dict& arrays, bool strict) {
  const InputArrays given = input_arrays(arrays);
  return alone(bound, [&](Session& session) {
    std::vector<HostTensor> tensors;
    for (const InputTensor& t : given.tensors) {
      const auto* bytes = static_cast<const std::byte*>(t.data);
      tensors.push_back(
          {t.name, t.dtype, t.shape, {bytes, bytes + count_elements(t.shape) * size_of(t.dtype)}});
    }
    const auto checkpoint =
        std::make_shared<const Checkpoint>(Checkpoint::of(std::move(tensors), "state_dict"));
    if (!strict) return session.load_weights(*checkpoint);
    const auto warnings = cli::load_weights(session, model_of(*bound.compiled, cli::Weights{checkpoint}));
    if (!warnings.empty()) fail("{}", warnings.front());
    return std::vector<std::string>();
  });
}

/// The prefix of the names of optimizer states, which distinguishes them from weights.
constexpr const char* kOptimizerPrefix = "optimizer.";

bool belongs_to_updates(const State& state) {
  return state.role == Role::optimizer || state.role == Role::state;
}

HostTensor copy_of(const Session& session, const State& state, std::string name) {
  const auto bytes = session.state(state.name);
  std::vector<int64_t> shape;
  for (const Dim& dim : state.shape) shape.push_back(session.plan().symbols.upper(dim));
  return {std::move(name), state.dtype, std::move(shape), {bytes.begin(), bytes.end()}};
}

/// Returns a copy of every state that updates keep in addition to weights, whole and in the plan's own
/// layout.
nb::dict optimizer_state(BoundSession& bound) {
  return by_name(for_reading(bound, [](const Session& session) {
    if (session.ranks()) fail("ranks have parts of the optimizer's states: expected a plan for one rank");
    std::vector<HostTensor> tensors;
    for (const State& state : session.plan().states)
      if (belongs_to_updates(state))
        tensors.push_back(copy_of(session, state, kOptimizerPrefix + state.name));
    return tensors;
  }));
}

const State& named_state(const Session& session, std::string_view name) {
  const std::vector<State>& states = session.plan().states;
  const auto found = std::ranges::find(states, name, &State::name);
  if (found == states.end()) fail("the plan has no state '{}'", name);
  return *found;
}

/// Returns copies of these states.
nb::dict read_states(BoundSession& bound, const std::vector<std::string>& names) {
  return by_name(for_reading(bound, [&](const Session& session) {
    std::vector<HostTensor> tensors;
    for (const std::string& name : names)
      tensors.push_back(copy_of(session, named_state(session, name), name));
    return tensors;
  }));
}

/// All of them, or nothing.
void write_states(BoundSession& bound, const nb::dict& arrays) {
  const InputArrays given = input_arrays(arrays);
  alone(bound, [&](Session& session) {
    for (const InputTensor& tensor : given.tensors) {
      const State& state = named_state(session, tensor.name);
      std::vector<int64_t> shape;
      for (const Dim& dim : state.shape) shape.push_back(session.plan().symbols.upper(dim));
      if (tensor.dtype != state.dtype || !std::ranges::equal(tensor.shape, shape))
        fail("'{}' is {}, expected {}", tensor.name, describe(tensor.dtype, tensor.shape),
             describe(state.dtype, shape));
    }
    for (const InputTensor& tensor : given.tensors)
      session.write_state(tensor.name,
                          {static_cast<const std::byte*>(tensor.data),
                           static_cast<size_t>(count_elements(tensor.shape) * size_of(tensor.dtype))});
  });
}

void check_optimizer_state(const Session& session, const std::vector<InputTensor>& given) {
  std::vector<std::string> faults;
  size_t expected = 0;
  for (const State& state : session.plan().states) {
    if (!belongs_to_updates(state)) continue;
    const std::string name = kOptimizerPrefix + state.name;
    const auto found = std::ranges::find(given, name, &InputTensor::name);
    const auto elements = state_bytes(session.plan(), state) / size_of(state.dtype);
    ++expected;
    if (found == given.end())
      faults.push_back(fmt::format("'{}' is missing", name));
    else if (found->dtype != state.dtype || count_elements(found->shape) != elements)
      faults.push_back(fmt::format("'{}' is {}, expected {}", name, describe(found->dtype, found->shape),
                                   describe(state.dtype, std::array{elements})));
  }
  if (faults.empty() && given.size() != expected)
    faults.emplace_back("there are names that no state of updates has");
  if (!faults.empty()) fail("the optimizer's states do not fit the plan: {}", fmt::join(faults, "; "));
}

/// All of them, or nothing.
void load_optimizer_state(BoundSession& bound, const nb::dict& arrays) {
  const InputArrays given = input_arrays(arrays);
  alone(bound, [&](Session& session) {
    check_optimizer_state(session, given.tensors);
    for (const InputTensor& tensor : given.tensors) {
      const auto bytes = static_cast<size_t>(count_elements(tensor.shape) * size_of(tensor.dtype));
      session.write_state(std::string_view(tensor.name).substr(std::strlen(kOptimizerPrefix)),
                          {static_cast<const std::byte*>(tensor.data), bytes});
    }
  });
}

}  // namespace

nb::class_<BoundSession> bind_session(nb::module_& module) {
  nb::class_<BoundSession> session(module, "Session");
  session.def_ro("weights", &BoundSession::weights)
      .def_ro("note", &BoundSession::note)
      .def("run", run)
      .def("run_to_device", run_to_device)
      .def("run_into", run_into, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg("step").none() = nb::none())
      .def("output_shapes", output_shapes)
      .def("train", train, nb::arg(), nb::arg(), nb::arg("rate").none(), nb::arg("step"),
           nb::arg("micro_step"), nb::arg("stream") = 0)
      .def("weight_views", [](nb::handle self) { return weight_views(self); })
      .def("share", share)
      .def("state_dict", state_dict)
      .def("optimizer_state", optimizer_state)
      .def("load_optimizer_state", load_optimizer_state)
      .def("read_states", read_states)
      .def("write_states", write_states)
      .def("load_state_dict", load_state_dict)
      .def("save_weights", [](BoundSession& bound, const std::string& path) {
        for_reading(bound, [&](Session& s) { s.save_weights(path); });
      });
  module.def(
      "open_session",
      [](const std::shared_ptr<CompiledPlan>& plan, std::optional<std::string> weights,
         std::optional<std::string> device, bool from_scratch, int threads, uint32_t seed, bool check_steps) {
        return open(plan, {std::move(weights), std::move(device), from_scratch, threads, seed, check_steps});
      },
      nb::arg("plan"), nb::kw_only(), nb::arg("weights").none(), nb::arg("device").none(),
      nb::arg("from_scratch"), nb::arg("threads"), nb::arg("seed"), nb::arg("check_steps"));
  return session;
}

}  // namespace smelt::python
