// ZeRO's stages in float64: ranks that have parts of states take the step of one rank.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/graph/verifier.h"
#include "ir/text/text.h"
#include "passes/graph/sharding/partition.h"
#include "passes/graph/sharding/propagate_shardings.h"
#include "passes/graph/sharding/shard_training.h"
#include "passes/graph/training/training_entries.h"
#include "tests/support/primitive_run.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

/// Tied weights, odd sizes, a bias that is not decayed.
constexpr const char* kTiedModel = R"(
symbols B <= 64
parameter "table" : f32[11,7]
parameter "w" : f32[7,7]
parameter "b" {decay = false} : f32[7]
graph @loss(%ids: i32[B], %y: f32[B,11]) {
  %table = parameter "table"
  %w = parameter "w"
  %b = parameter "b"
  %x = gather %table, %ids {axis = 0}
  %h = linear %x, %w, %b
  %p = linear %h, %table
  %d = sub %p, %y
  %q = mul %d, %d
  %sum = reduce add %q {axes = [0, 1]}
  %one = constant {value = 1} : f32[B]
  %count = reduce add %one {axes = [0]}
  return loss_sum = %sum, token_count = %count
})";

struct ZeroCase {
  int stage;
  int64_t ranks;
  Optimizer optimizer;
  DType storage;
  int64_t bucket;
};
void PrintTo(const ZeroCase& c, std::ostream* out) {
  *out << fmt::format("stage {}, {} ranks, {}, {}, bucket {}", c.stage, c.ranks, name(c.optimizer),
                      name(c.storage), c.bucket);
}

/// The entries of training, of all ranks together.
std::unique_ptr<Module> whole_module(const ZeroCase& c) {
  auto module = parse_module(kTiedModel);
  module->set_mesh({{{"data", c.ranks}}});
  const ShardTrainingOptions sharding{.zero = c.stage, .bucket = c.bucket};
  flatten_parameters(*module, in_buckets({c.storage}, module->mesh(), sharding));
  TrainingOptions training;
  training.optimizer.optimizer = c.optimizer;
  training.optimizer.weight_decay = 0.1, training.optimizer.clip_norm = 0.7;
  training.optimizer.scaling.on = c.storage == DType::f16;
  training.flat_sums = c.stage >= 2;
  make_training_entries(*module, training);
  std::erase_if(module->graphs, [](const auto& graph) { return graph->name == "loss"; });
  for (const auto& graph : module->graphs) decompose(*graph, {});
  return module;
}

std::unique_ptr<Module> zero_of_one_rank(const Module& whole, int stage) {
  auto local = whole.clone();
  shard_training(*local, {.zero = stage});
  for (const auto& graph : local->graphs) propagate_shardings(*graph, {});
  partition(*local, {});
  for (const auto& graph : local->graphs) graph->prune();
  verify_or_throw(*local);
  return local;
}

/// Moments that are no zeros, second ones positive.
Tensors states_before(const Module& module) {
  Tensors states = testing::random_states(module, 4, {});
  states["learning_rate"].data = {0.01};
  states["step"].data = {3};
  if (states.contains("loss_scale")) states["loss_scale"].data = {64};
  for (const char* sum : {"gradients", "loss_sum", "token_count"})
    if (states.contains(sum)) std::ranges::fill(states[sum].data, 0);
  return states;
}

void expect_equal(const Tensors& actual, const Tensors& expected) {
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_LT(testing::relative_error(actual.at(name), tensor), 1e-12) << name;
  }
}

class ZeroStages : public ::testing::TestWithParam<ZeroCase> {};

TEST_P(ZeroStages, TakeTheStepOfOneRank) {
  const auto whole = whole_module(GetParam());
  const auto local = zero_of_one_rank(*whole, GetParam().stage);
  EvaluateOptions options;
  options.symbols = {{"B", 2 * GetParam().ranks}};
  const Graph& step = *whole->find_graph("train_step");
  const Tensors inputs = testing::random_inputs(step, 3, options.symbols, 11), states = states_before(*whole);
  const Evaluation expected = testing::run(step, inputs, states, options);
  const Evaluation actual = testing::run_ranks(*local->find_graph("train_step"), inputs, states, options);
  expect_equal(actual.outputs, expected.outputs);
  expect_equal(actual.states, expected.states);
}

/// Sums of two micro-steps, then the update.
TEST_P(ZeroStages, AccumulateAsOneRank) {
  const auto whole = whole_module(GetParam());
  const auto local = zero_of_one_rank(*whole, GetParam().stage);
  EvaluateOptions options;
  options.symbols = {{"B", GetParam().ranks}};
  Tensors expected = states_before(*whole), actual = expected;
  const auto run_both = [&](const char* entry, uint64_t seed) {
    const Graph &global = *whole->find_graph(entry), &ranks = *local->find_graph(entry);
    const Tensors inputs = testing::random_inputs(global, seed, options.symbols, 11);
    for (const auto& [name, tensor] : testing::run(global, inputs, expected, options).states)
      expected[name] = tensor;
    for (const auto& [name, tensor] : testing::run_ranks(ranks, inputs, actual, options).states)
      actual[name] = tensor;
  };
  for (const uint64_t seed : {5, 6}) run_both("accumulate", seed);
  run_both("apply", 0);
  expect_equal(actual, expected);
}

std::vector<ZeroCase> zero_cases() {
  std::vector<ZeroCase> cases;
  for (const int stage : {1, 2, 3})
    for (const int64_t ranks : {2, 3, 4, 8})
      for (const Optimizer optimizer : {Optimizer::adam, Optimizer::lamb})
        for (const DType storage : {DType::f32, DType::bf16})
          if (storage == DType::f32 || ranks == 3)  // masters and a copy: once an optimizer
            cases.push_back({stage, ranks, optimizer, storage, ranks == 3 ? 1000 : 50});
  for (const int stage : {1, 2, 3}) {
    cases.push_back({stage, 2, Optimizer::sgd, DType::f32, 50});
    cases.push_back({stage, 2, Optimizer::momentum, DType::f32, 50});
    cases.push_back({stage, 4, Optimizer::adagrad, DType::bf16, 50});
    cases.push_back({stage, 3, Optimizer::adamw, DType::f16, 50});
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, ZeroStages, ::testing::ValuesIn(zero_cases()));

/// A rank keeps the states that docs/guides/distributed.md lists.
TEST(ZeroStates, HaveTheBytesOfTheFormula) {
  for (const int stage : {1, 2, 3})
    for (const DType storage : {DType::f32, DType::bf16}) {
      const int64_t ranks = 4;
      const auto local = zero_of_one_rank(*whole_module({stage, ranks, Optimizer::adam, storage, 60}), stage);
      const int64_t buckets = 3, width = 256, flat = buckets * width;  // of 140 elements in segments
      const bool has_copy = storage != DType::f32;
      const int64_t copy = has_copy ? 2 * flat / (stage == 3 ? ranks : 1) : 0;
      const int64_t parameters = 4 * flat / (has_copy || stage == 3 ? ranks : 1), moments = 8 * flat / ranks;
      const int64_t sums = 4 * flat / (stage >= 2 ? ranks : 1);
      int64_t bytes = 0;
      for (const State& state : local->states)
        if (!state.segments.empty()) bytes += *element_count(state.shape).constant() * size_of(state.dtype);
      EXPECT_EQ(bytes, copy + parameters + moments + sums) << stage << " " << name(storage);
    }
}

}  // namespace
}  // namespace smelt
