// Comparison of compiled modules with the float64 evaluator: a module is compiled for the CPU, and every
// output and state of a run is compared.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>

#include "compiler/driver/compile.h"
#include "ir/evaluate/bounded.h"
#include "ir/evaluate/evaluator.h"
#include "ir/evaluate/rounding.h"
#include "ir/text/text.h"
#include "passes/graph/simplify/decompose.h"
#include "runtime/base/half.h"
#include "runtime/session/session.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_tensors.h"

namespace smelt::testing {

inline Plan compiled(const Module& module, const CompileOptions& options) {
  return compile(module.clone(), options).plan;
}

/// A test case: sizes, the seed of the data, and how the plan is made and compared.
struct CpuCase {
  SymbolValues symbols;
  uint64_t seed = 1;
  Philox philox{.seed = 7, .step = 3, .micro_step = 0};
  Plan (*plan)(const Module&, const CompileOptions&) = compiled;
  /// Additional bound of errors, relative to the root mean square of an output. It is for kernels that keep
  /// in f32 a value that the graph rounds to 16 bits.
  double relative = 0;
  bool specials = false;  // calls put_specials for the inputs
};

/// Replaces about one in eight elements of f32 tensors by NaN, an infinity, a zero of either sign, a
/// subnormal or a large number.
inline void put_specials(Tensors& tensors, uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNumbers[] = {NAN, kInfinity, -kInfinity, -0.0, 0.0, 1e-40, -1e-40, 1e30, -1e30, 16777216};
  std::mt19937_64 random(seed);
  for (auto& [name, tensor] : tensors)
    for (double& x : tensor.data)
      if (tensor.dtype == DType::f32 && random() % 8 == 0) x = kNumbers[random() % std::size(kNumbers)];
}

/// Returns the elements of the evaluator's tensor as bytes of its dtype, as a session expects them.
inline std::vector<std::byte> to_bytes(const Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.data.size() * static_cast<size_t>(size_of(tensor.dtype)));
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    const auto put = [&](auto value) { std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value); };
    if (tensor.dtype == DType::f32)
      put(static_cast<float>(tensor.data[i]));
    else if (tensor.dtype == DType::i32)
      put(static_cast<int32_t>(tensor.data[i]));
    else if (tensor.dtype == DType::i64)
      put(static_cast<int64_t>(tensor.data[i]));
    else if (tensor.dtype == DType::i8)
      put(static_cast<int8_t>(tensor.data[i]));
    else if (tensor.dtype == DType::bf16)
      put(to_bf16(static_cast<float>(tensor.data[i])));
    else if (tensor.dtype == DType::f16)
      put(to_f16(static_cast<float>(tensor.data[i])));
    else
      put(static_cast<uint8_t>(tensor.data[i]));
  }
  return bytes;
}

inline Tensor to_tensor(const HostTensor& host) {
  Tensor tensor{host.dtype, host.shape, {}};
  if (host.dtype == DType::f32)
    tensor.data.assign(host.as<float>().begin(), host.as<float>().end());
  else if (host.dtype == DType::bf16)
    std::ranges::transform(host.as<uint16_t>(), std::back_inserter(tensor.data), from_bf16);
  else if (host.dtype == DType::f16)
    std::ranges::transform(host.as<uint16_t>(), std::back_inserter(tensor.data), from_f16);
  else if (host.dtype == DType::i32)
    tensor.data.assign(host.as<int32_t>().begin(), host.as<int32_t>().end());
  else if (host.dtype == DType::i64)
    tensor.data.assign(host.as<int64_t>().begin(), host.as<int64_t>().end());
  else if (host.dtype == DType::i8)
    tensor.data.assign(host.as<int8_t>().begin(), host.as<int8_t>().end());
  else
    tensor.data.assign(host.as<uint8_t>().begin(), host.as<uint8_t>().end());
  return tensor;
}

/// Rounds all numbers to the dtypes of their tensors, so that the evaluator and the session read equal
/// numbers.
inline void round_to_type(Tensors& tensors) {
  for (auto& [name, tensor] : tensors)
    if (is_float(tensor.dtype))
      for (double& x : tensor.data) x = round_to(tensor.dtype, x);
}

/// Writes `states` to the states of the session. A parameter state that is not in `states` is written segment
/// by segment, from the tensors in `states` with the names of the segments. Other states that are not in
/// `states` keep their contents.
inline void write_states(Session& session, const Tensors& states) {
  for (const State& state : session.plan().states) {
    if (const auto it = states.find(state.name); it != states.end()) {
      const std::vector<std::byte> bytes = to_bytes(it->second);
      ASSERT_EQ(bytes.size(), session.state(state.name).size()) << "state " << state.name;
      std::copy(bytes.begin(), bytes.end(), session.state(state.name).begin());
    } else if (state.role == Role::parameter) {
      for (const Segment& segment : state.segments) {
        const std::vector<double>& data = states.at(segment.name).data;
        session.write_segment(state.name, segment.name, std::vector<float>(data.begin(), data.end()));
      }
    }
  }
}

/// Runs one entry, and returns its outputs. The states of the session are changed by the run.
inline Tensors run_entry(Session& session, const std::string& name, const Philox& philox,
                         const Tensors& inputs) {
  session.set_random(philox.seed, philox.step, philox.micro_step >> 16);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<InputTensor> given;
  for (const Port& port : session.entry(name).inputs) {
    const Tensor& tensor = inputs.at(port.name);
    bytes.push_back(to_bytes(tensor));
    given.push_back({port.name, tensor.dtype, tensor.shape, bytes.back().data()});
  }
  Tensors outputs;
  for (const HostTensor& host : session.run(name, given)) outputs[host.name] = to_tensor(host);
  return outputs;
}

/// Creates a session that fills its memory with NaNs before each run, to find reads of memory that was not
/// written.
inline Session cpu_session(Plan plan) {
  Session session(std::make_shared<const Plan>(std::move(plan)), {.threads = 2, .poison = true});
  session.initialize();
  return session;
}

/// Returns the contents of a state, whose shape must be constant.
inline Tensor state_of(Session& session, const std::string& name) {
  const State& state = *session.plan().find_state(name);
  HostTensor host{name, state.dtype, {}, {}};
  for (const Dim& dim : state.shape) host.shape.push_back(dim.constant().value());
  const auto bytes = session.state(name);
  host.bytes.assign(bytes.begin(), bytes.end());
  return to_tensor(host);
}

/// Compiles the module and returns the outputs of its first entry.
inline Tensors run_on_cpu(const Module& module, const CpuCase& c, const Tensors& inputs,
                          const Tensors& states, CompileOptions options = {}) {
  options.mode = Mode::infer;
  Session session = cpu_session(c.plan(module, options));
  write_states(session, states);
  return run_entry(session, session.plan().entries.front().name, c.philox, inputs);
}

/// Returns whether a value of the graph is bf16 or f16. In such graphs a value near the middle of two numbers
/// may be rounded to either.
inline bool rounds_to_half(const Graph& graph) {
  return llvm::any_of(graph.nodes(), [](const auto& node) {
    return llvm::any_of(node->results(), [](const auto& result) {
      return result->dtype() == DType::bf16 || result->dtype() == DType::f16;
    });
  });
}

/// An element of an output or a state whose difference from the evaluator's exceeds the bound of its error.
struct Difference {
  std::string name;
  double found = 0, expected = 0, bound = 0;
};

/// Factor of all error bounds. The bounds of the evaluator are first-order approximations, and count one
/// rounding per operation of the original graph.
inline constexpr double kSlack = 2;

inline double root_mean_square(const Tensor& tensor) {
  double squares = 0;
  for (double x : tensor.data) squares += x * x;
  return std::sqrt(squares / std::max<double>(1, static_cast<double>(tensor.data.size())));
}

/// Appends the element with the largest ratio of difference and bound, if this ratio is above 1. `errors` has
/// the bound of each element, and `relative` is CpuCase::relative.
inline void add_difference(std::vector<Difference>& found, const std::string& name, const Tensor& actual,
                           const Tensor& expected, const Tensor& errors, double relative) {
  if (actual.shape != expected.shape) return found.push_back({name + "'s shape", NAN, 0, 0});
  const double more = relative > 0 ? relative * root_mean_square(expected) : 0;
  Difference worst{name};
  double most = 1;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    const double bound = kSlack * errors.data[i] + more;
    const double distance = bounding::distance(actual.data[i], expected.data[i]);
    if (distance <= bound) continue;
    const double times = bound > 0 ? distance / bound : std::numeric_limits<double>::infinity();
    if (times <= most) continue;
    most = times;
    worst = {name, actual.data[i], expected.data[i], bound};
  }
  if (most > 1) found.push_back(worst);
}

/// Thrown if the evaluator rejects the inputs, for example because of an index outside of a table, or an
/// integer that float64 cannot represent.
struct NoExpectation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Evaluates the graph with error bounds. Throws NoExpectation.
inline BoundedEvaluation expectation(const Graph& graph, const Tensors& inputs, const Tensors& states,
                                     const CpuCase& c) {
  try {
    return evaluate_bounded(graph, inputs, states, {.symbols = c.symbols, .philox = c.philox, .round = true});
  } catch (const Error& error) {
    throw NoExpectation(error.what());
  }
}

/// Compiles and runs the module, and returns all outputs and states with an element that differs from the
/// evaluator's by more than its error bound. Float inputs and states are rounded to their dtypes first.
inline std::vector<Difference> differences_at(const Module& module, const CpuCase& c, Tensors inputs,
                                              Tensors states, CompileOptions options = {}) {
  const std::unique_ptr<Module> primitive = module.clone();
  decompose(*primitive->graphs.front(), {});
  round_to_type(inputs);
  round_to_type(states);
  const BoundedEvaluation expected = expectation(*primitive->graphs.front(), inputs, states, c);
  options.mode = Mode::infer;
  Session session = cpu_session(c.plan(module, options));
  write_states(session, states);
  const Tensors actual = run_entry(session, session.plan().entries.front().name, c.philox, inputs);
  std::vector<Difference> found;
  for (const auto& [name, value] : expected.value.outputs)
    add_difference(found, name, actual.at(name), value, expected.error.outputs.at(name), c.relative);
  for (const auto& [name, value] : expected.value.states)
    add_difference(found, "state " + name, state_of(session, name), value, expected.error.states.at(name),
                   c.relative);
  return found;
}

/// Does the same for random inputs and states.
inline std::vector<Difference> differences(const Module& module, const CpuCase& c,
                                           const CompileOptions& options = {}) {
  const Graph& graph = *module.graphs.front();
  Tensors inputs = random_inputs(graph, c.seed, c.symbols);  // composites show which ids are valid
  if (c.specials) put_specials(inputs, c.seed);
  return differences_at(module, c, std::move(inputs), random_states(graph, c.seed, c.symbols), options);
}

inline void expect_none(const std::vector<Difference>& differences, const Module& module) {
  for (const Difference& found : differences)
    ADD_FAILURE() << found.name << " has " << found.found << ", expected " << found.expected << " within "
                  << found.bound << "\n"
                  << print(module);
}

inline void expect_cpu_matches(const Module& module, const CpuCase& c, const CompileOptions& options = {}) {
  expect_none(differences(module, c, options), module);
}

}  // namespace smelt::testing
