// Data parallel training of whole models: the ranks' step is the step of all their batches together.
#include <gtest/gtest.h>

#include "frontend/build_transformer.h"
#include "ir/graph/verifier.h"
#include "passes/graph/sharding/partition.h"
#include "passes/graph/sharding/propagate_shardings.h"
#include "passes/graph/sharding/shard_training.h"
#include "passes/graph/simplify/simplify.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/training_entries.h"
#include "tests/support/primitive_run.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

#define SMELT_DP_SIZES R"("vocab_size": 19, "hidden": 8, "max_positions": 8, )"
#define SMELT_DP_STACK R"({"layers": 1, "heads": 2, "ffn": 12})"
constexpr std::pair<const char*, const char*> kModels[] = {
    {"gpt2", R"({"family": "gpt2", )" SMELT_DP_SIZES R"("decoder": )" SMELT_DP_STACK "}"},
    {"bert",
     R"({"family": "bert", )" SMELT_DP_SIZES R"("encoder": )" SMELT_DP_STACK R"(, "head": {"kind": "mlm"}})"},
    {"bart", R"({"family": "bart", )" SMELT_DP_SIZES R"("encoder": )" SMELT_DP_STACK
             R"(, "decoder": )" SMELT_DP_STACK R"(, "tokens": {"pad": 1, "decoder_start": 2}})"},
};

/// The entries of training in primitives, over a mesh; batches are cut over data.
std::unique_ptr<Module> training_module(const char* spec, const char* mesh, double dropout,
                                        const FlattenParametersOptions& flat = {}) {
  auto module = build_transformer(spec_from_json(spec), {.dropout = dropout});
  std::erase_if(module->graphs, [](const auto& graph) { return graph->name != "loss"; });
  TrainingOptions training;
  training.optimizer.optimizer = Optimizer::adamw;
  training.optimizer.clip_norm = 1;
  training.optimizer.weight_decay = 0.1;
  decompose(*module->graphs[0], {});
  flatten_parameters(*module, flat);
  make_training_entries(*module, training);
  std::erase_if(module->graphs, [](const auto& graph) { return graph->name == "loss"; });
  module->set_mesh(parse_mesh(mesh));
  for (const auto& graph : module->graphs) decompose(*graph, {});
  return module;
}

std::unique_ptr<Module> partitioned(const Module& module, std::vector<CollectiveEntry>* log = nullptr) {
  auto local = module.clone();
  shard_training(*local, {});  // what is not annotated
  for (const auto& graph : local->graphs) propagate_shardings(*graph, {});
  PartitionOptions options;
  options.log = log;
  partition(*local, options);
  for (const auto& graph : local->graphs) graph->prune();
  verify_or_throw(*local);
  return local;
}

/// States as a session has them after a step or two: moments that are no zeros, second ones positive.
Tensors trained_states(const Module& module, uint64_t seed) {
  Tensors states = testing::random_states(module, seed, {});
  states["learning_rate"].data = {0.01};
  states["step"].data = {3};
  for (const char* sum : {"gradients", "loss_sum", "token_count"})
    if (states.contains(sum)) std::ranges::fill(states[sum].data, 0);
  return states;
}

/// The rows [begin, begin + count) of every input's batch.
Tensors rows_of(const Tensors& inputs, int64_t begin, int64_t count) {
  Tensors rows;
  for (const auto& [name, tensor] : inputs) {
    const auto row = static_cast<int64_t>(tensor.data.size()) / tensor.shape[0];
    Tensor part{tensor.dtype, tensor.shape, {}};
    part.shape[0] = count;
    part.data.assign(tensor.data.begin() + begin * row, tensor.data.begin() + (begin + count) * row);
    rows[name] = std::move(part);
  }
  return rows;
}

void expect_equal_tensors(const Tensors& actual, const Tensors& expected) {
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_LT(testing::relative_error(actual.at(name), tensor), 1e-12) << name;
  }
}

size_t count_of(const std::vector<CollectiveEntry>& log, std::string_view graph) {
  return static_cast<size_t>(std::ranges::count(log, graph, &CollectiveEntry::graph));
}

/// A training step over the ranks leaves the states that one on the whole does.
void expect_equal_steps(const Module& module, const Module& local) {
  EvaluateOptions options;
  options.symbols = {{"B", 2}, {"T", 3}, {"S", 3}};
  const Graph& whole = *module.find_graph("train_step");
  const Tensors inputs = testing::random_inputs(whole, 3, options.symbols, 19),
                states = trained_states(module, 4);
  const Evaluation expected = testing::run(whole, inputs, states, options);
  expect_equal_tensors(testing::run_ranks(*local.find_graph("train_step"), inputs, states, options).states,
                       expected.states);
}

class DataParallel : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(DataParallel, StepIsTheStepOfAllRanks) {
  const auto module = training_module(GetParam().second, "data=4", 0);
  std::vector<CollectiveEntry> log;
  const auto local = partitioned(*module, &log);
  EXPECT_EQ(count_of(log, "train_step"), 3u) << "the flat gradient, the token count and the loss\n"
                                             << explain(log);
  EXPECT_TRUE(std::ranges::all_of(log, [](const auto& e) { return e.kind == "all_reduce"; })) << explain(log);
  EvaluateOptions options;
  options.symbols = {{"B", 4}, {"T", 3}, {"S", 3}};
  const Graph &whole = *module->find_graph("train_step"), &ranks = *local->find_graph("train_step");
  const Tensors inputs = testing::random_inputs(whole, 3, options.symbols, 19),
                states = trained_states(*module, 4);
  const Evaluation expected = testing::run(whole, inputs, states, options);
  const Evaluation actual = testing::run_ranks(ranks, inputs, states, options);
  expect_equal_tensors(actual.outputs, expected.outputs);
  expect_equal_tensors(actual.states, expected.states);
}

/// With dropout N ranks draw what one rank draws in N micro-steps.
TEST_P(DataParallel, RanksDrawWhatMicroStepsDo) {
  const auto module = training_module(GetParam().second, "data=2", 0.25);
  const auto local = partitioned(*module);
  EvaluateOptions options;
  options.symbols = {{"B", 2}, {"T", 3}, {"S", 3}};
  options.philox = {11, 5, 0};
  const Tensors inputs = testing::random_inputs(*module->find_graph("train_step"), 3, options.symbols, 19);
  const Tensors before = trained_states(*module, 4);
  const Evaluation actual = testing::run_ranks(*local->find_graph("train_step"), inputs, before, options);

  Tensors states = before;
  options.symbols["B"] = 1;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    options.philox.micro_step = rank << 16;
    const Evaluation step =
        testing::run(*module->find_graph("accumulate"), rows_of(inputs, rank, 1), states, options);
    for (const auto& [name, tensor] : step.states) states[name] = tensor;
  }
  const Evaluation applied = testing::run(*module->find_graph("apply"), {}, states, options);
  for (const char* name : {"parameters", "adam.m", "adam.v"})
    EXPECT_LT(testing::relative_error(actual.states.at(name), applied.states.at(name)), 1e-12) << name;
  expect_equal_tensors(actual.outputs, applied.outputs);
}

/// Sums that wait as addends of the ranks are reduced where they are applied, once.
TEST_P(DataParallel, AccumulatesWithoutCommunication) {
  auto module = training_module(GetParam().second, "data=2", 0);
  std::vector<CollectiveEntry> log;
  const auto local = partitioned(*module, &log);
  for (const CollectiveEntry& entry : log)
    EXPECT_FALSE(entry.graph == "accumulate" && entry.bytes > 4) << explain({entry});
  EXPECT_EQ(count_of(log, "apply"), 3u) << explain(log);
}

/// ZeRO: masters and moments cut over data, one reduce_scatter and one all_gather.
TEST_P(DataParallel, OptimizerStatesAreCut) {
  auto module = training_module(GetParam().second, "data=2", 0);
  for (const char* state : {"adam.m", "adam.v"}) module->find_state(state)->cut = {{"data"}};
  std::vector<CollectiveEntry> log;
  const auto local = partitioned(*module, &log);
  std::map<std::string, int> kinds;
  for (const CollectiveEntry& entry : log) kinds[entry.graph + " " + entry.kind] += 1;
  EXPECT_EQ(kinds["train_step reduce_scatter"], 1) << explain(log);
  EXPECT_EQ(kinds["train_step all_gather"], 1) << explain(log);
  EXPECT_EQ(kinds["train_step all_reduce"], 3) << explain(log);
  EXPECT_EQ(local->find_state("adam.m")->shape[0] * 2, module->find_state("adam.m")->shape[0]);
  expect_equal_steps(*module, *local);
}

/// Parameters that are cut, too, are gathered for forward and for backward apart, and written without.
TEST_P(DataParallel, ParametersAreCut) {
  auto module = training_module(GetParam().second, "data=2,model=2", 0);
  for (const char* state : {"parameters", "adam.m", "adam.v"}) module->find_state(state)->cut = {{"data"}};
  std::vector<CollectiveEntry> log;
  const auto local = partitioned(*module, &log);
  const auto gathers = std::ranges::count_if(
      log, [](const auto& e) { return e.graph == "train_step" && e.kind == "all_gather"; });
  EXPECT_EQ(gathers, 2) << explain(log);
  expect_equal_steps(*module, *local);
}

/// Masters of a rounded copy are cut; the copy is what is gathered, and read.
TEST_P(DataParallel, MastersAreCut) {
  auto module = training_module(GetParam().second, "data=2", 0, {DType::bf16, true});
  shard_training(*module, {.axes = {"data"}, .zero = 1});
  EXPECT_EQ(module->find_state("parameters")->cut.size(), 1u);
  std::vector<CollectiveEntry> log;
  const auto local = partitioned(*module, &log);
  std::vector<std::string> gathered;
  for (const CollectiveEntry& entry : log)
    if (entry.graph == "train_step" && entry.kind == "all_gather")
      gathered.push_back(entry.type.substr(0, 4));
  EXPECT_EQ(gathered, std::vector<std::string>{"bf16"}) << explain(log);
  expect_equal_steps(*module, *local);
}

INSTANTIATE_TEST_SUITE_P(All, DataParallel, ::testing::ValuesIn(kModels),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace smelt
