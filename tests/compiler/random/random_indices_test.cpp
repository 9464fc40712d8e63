// Random indices through whole plans on the CPU: a plan that has run has read and written what the evaluator
// has, and one that was given an index outside of its table has said so.
#include "tests/support/random_indices.h"

#include <optional>

#include "passes/graph/simplify/guard_indices.h"
#include "runtime/base/error.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

using testing::RandomIndices;

class RandomIndexPlans : public ::testing::TestWithParam<uint64_t> {};

bool is_out_of_bounds(const Error& error) {
  return std::string_view(error.what()).find("is out of bounds: expected 0 to") != std::string_view::npos;
}

/// An input that indexes a table itself is checked before anything runs.
bool is_refused_id(const Error& error) {
  return std::string_view(error.what()).find("expected an id from 0 to") != std::string_view::npos;
}

/// Far away, but so that no sum or product leaves 32 bits: kernels wrap around where the evaluator does not.
Tensors within_a_million(Tensors inputs) {
  for (auto& [name, tensor] : inputs)
    for (double& x : tensor.data) x = std::clamp(x, -1e6, 1e6);
  return inputs;
}

/// A session takes 1 for a size that no input tells.
SymbolValues random_sizes(const Graph& graph, std::mt19937_64& random) {
  const bool told = llvm::any_of(graph.inputs(), [](const Node* input) {
    return llvm::is_contained(input->result()->type.shape, Dim::symbol("T"));
  });
  return {{"T", told ? 1 + static_cast<int64_t>(random() % RandomIndices::kMostRows) : 1}};
}

TEST_P(RandomIndexPlans, ReadAndWriteWhatTheEvaluatorDoes) {
  std::mt19937_64 random(GetParam());
  const auto module = RandomIndices(GetParam()).make();
  const auto guarded = module->clone();
  CompileOptions options;
  options.mode = Mode::infer;
  std::optional<Session> compiled;
  try {
    guard_indices(*guarded->graphs.front(), {});
    compiled.emplace(
        testing::cpu_session(testing::compiled(*module, options)));  // knows more when simplified
  } catch (const Error& error) {
    EXPECT_TRUE(is_out_of_bounds(error)) << error.what();
    return;
  }
  Tensors faults;
  for (const State& state : guarded->states) faults[state.name] = {DType::i32, {3}, {0, 0, 0}};
  Session& session = *compiled;
  for (int round = 0; round < 4; ++round) {
    EvaluateOptions at;
    const Graph& graph = *guarded->graphs.front();
    at.symbols = random_sizes(graph, random);
    at.philox = {.seed = 7, .step = 3, .micro_step = 0};
    const Tensors inputs = within_a_million(RandomIndices::inputs(graph, at.symbols, random));
    const Evaluation expected = evaluate(graph, inputs, faults, at);
    const bool fault = llvm::any_of(expected.states, [](const auto& state) {
      return state.second.data[0] != 0 || state.second.data[1] != 0;
    });
    try {
      const Tensors found = testing::run_entry(session, "main", at.philox, inputs);
      EXPECT_FALSE(fault) << print(*module);
      for (const auto& [name, reference] : expected.outputs)
        EXPECT_LT(testing::relative_error(found.at(name), reference), 1e-6) << name << "\n" << print(*module);
    } catch (const Error& error) {
      EXPECT_TRUE(fault && (is_out_of_bounds(error) || is_refused_id(error))) << error.what() << "\n"
                                                                              << print(*module);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomIndexPlans, ::testing::Range<uint64_t>(0, 300));

}  // namespace
}  // namespace smelt
