// The operators that `smelt bench` times (tests/bench/operators): what their plans leave in states is what
// their graphs compute of inputs, forward and backward.
#include <algorithm>
#include <filesystem>

#include "frontend/description.h"
#include "passes/pass_manager.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

constexpr const char* kOperators[] = {
    "adamw", "bias_dropout_residual", "bias_gelu_dropout", "criterion", "layer_norm", "softmax"};
constexpr Philox kPhilox{.seed = 7, .step = 3, .micro_step = 0};

std::unique_ptr<Module> operator_at_three_rows(const std::string& name) {
  const auto path = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/bench/operators" / (name + ".ir");
  auto module = read_description(path).build({.bounds = {{{"N"}, 3}}});
  PassManager().add("bind_symbols,make_backward,simplify").run(*module);
  return module;
}

/// Second moments are never negative.
Tensors states_for(const Graph& graph) {
  Tensors states = testing::random_states(graph, 2, {});
  for (auto& [name, tensor] : states)
    if (name == "adam.v")
      for (double& x : tensor.data) x *= x;
  testing::round_to_single(states);
  return states;
}

Tensor read(Session& session, const std::string& name, const Tensor& like) {
  const std::span<std::byte> bytes = session.state(name);
  const DType dtype = session.plan().find_state(name)->dtype;
  return testing::to_tensor({name, dtype, like.shape, {bytes.begin(), bytes.end()}});
}

/// Outputs and states of the graph against states of the plan, where inputs and outputs are states too.
void expect_states_hold_results(const Module& module, const Graph& graph, DType storage, double bound) {
  auto primitive = module.clone();
  Graph& reference = *primitive->find_graph(graph.name);
  Tensors inputs = testing::random_inputs(reference, 1, {});
  testing::round_to_single(inputs);
  decompose(reference, {});
  const Tensors states = states_for(reference);
  const Evaluation expected = evaluate(reference, inputs, states, {.symbols = {}, .philox = kPhilox});

  auto stored = module.clone();
  PassManager().add(fmt::format("store_ports{{storage={}}}", name(storage))).run(*stored);
  CompileOptions options;
  options.mode = Mode::infer, options.storage = storage;
  Session session = testing::cpu_session(compile(std::move(stored), options).plan);
  Tensors given = inputs;
  given.insert(states.begin(), states.end());
  for (auto& [name, tensor] : given) {
    if (!session.plan().find_state(name)) continue;
    tensor.dtype = session.plan().find_state(name)->dtype;
    session.write_state(name, testing::to_bytes(tensor));
  }
  testing::run_entry(session, graph.name, kPhilox, {});
  Tensors results = expected.outputs;
  results.insert(expected.states.begin(), expected.states.end());
  for (const auto& [name, tensor] : results)
    if (session.plan().find_state(name))
      EXPECT_LT(testing::relative_error(read(session, name, tensor), tensor), bound)
          << "@" << graph.name << " " << name;
}

class Operators : public ::testing::TestWithParam<const char*> {};

TEST_P(Operators, LeaveTheirResultsInStates) {
  const auto module = operator_at_three_rows(GetParam());
  for (const auto& graph : module->graphs) {
    expect_states_hold_results(*module, *graph, DType::f32, 1e-5);
    expect_states_hold_results(*module, *graph, DType::bf16, 2e-2);
  }
}

TEST_P(Operators, HaveABackwardUnlessTheyUpdate) {
  const auto module = operator_at_three_rows(GetParam());
  const bool updates = module->find_graph("update") != nullptr;
  EXPECT_EQ(module->find_graph("forward.backward") == nullptr, updates);
}

INSTANTIATE_TEST_SUITE_P(All, Operators, ::testing::ValuesIn(kOperators));

}  // namespace
}  // namespace smelt
