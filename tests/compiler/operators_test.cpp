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
  testing::round_to_type(states);
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
  testing::round_to_type(inputs);
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
  for (const auto& [name, tensor] : results) {
    if (!session.plan().find_state(name)) continue;
    EXPECT_LT(testing::relative_error(read(session, name, tensor), tensor), bound)
        << "@" << graph.name << " " << name;
  }
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

constexpr const char* kParameterAlone = R"(
parameter "w" : f32[3,1024]
graph @update(%g: f32[3,1024]) {
  return grad.w = %g
}
)";

/// Flat, as the optimiser has them.
Tensor flat(Tensor tensor) {
  if (!tensor.shape.empty()) tensor.shape = {static_cast<int64_t>(tensor.data.size())};
  return tensor;
}

TEST(OperatorsAdamW, IsTheOptimizersUpdate) {
  const auto ours = operator_at_three_rows("adamw"), flattened = parse_module(kParameterAlone, "test");
  const Graph &update = *ours->find_graph("update"), &optimizer = *flattened->find_graph("update");
  PassManager().add("flatten_parameters,apply_optimizer{optimizer=adamw,weight_decay=0.01}").run(*flattened);
  const Tensors inputs = testing::random_inputs(update, 1, {}), states = states_for(update);
  Tensors flat_states = testing::random_states(optimizer, 1, {});
  for (const auto& [name, tensor] : states) flat_states[name] = flat(tensor);
  const Tensors found = evaluate(update, inputs, states, {}).states;
  const Tensors expected = evaluate(optimizer, inputs, flat_states, {}).states;
  for (const auto& [name, tensor] : found)
    EXPECT_LT(testing::relative_error(flat(tensor), expected.at(name)), 1e-12) << name;
  EXPECT_EQ(found.size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(All, Operators, ::testing::ValuesIn(kOperators));

}  // namespace
}  // namespace smelt
