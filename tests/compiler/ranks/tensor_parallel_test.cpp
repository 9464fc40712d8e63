// Tensor parallel training of whole models: a step over ranks that share the parameters is the step of one.
#include <gtest/gtest.h>

#include "frontend/build_transformer.h"
#include "ir/evaluate/evaluate_ranks.h"
#include "ir/graph/verifier.h"
#include "passes/graph/sharding/partition.h"
#include "passes/graph/sharding/shard_training.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/training_entries.h"
#include "passes/pass_manager.h"
#include "runtime/plan/segment_parts.h"
#include "tests/support/primitive_run.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

struct ParallelCase {
  const char* name;
  const char* spec;
};
void PrintTo(const ParallelCase& c, std::ostream* out) { *out << c.name; }

#define SMELT_TP_SIZES R"("vocab_size": 12, "hidden": 8, "max_positions": 8)"
#define SMELT_TP_STACK R"({"layers": 1, "heads": 4, "ffn": 12})"
#define SMELT_TP_DECODER SMELT_TP_SIZES R"(, "decoder": )" SMELT_TP_STACK
#define SMELT_TP_GROUPED \
  SMELT_TP_SIZES R"(, "decoder": {"layers": 1, "heads": 4, "kv_heads": 2, "head_dim": 4, "ffn": 12})"
#define SMELT_TP_ENCODER SMELT_TP_SIZES R"(, "encoder": )" SMELT_TP_STACK
#define SMELT_TP_BOTH SMELT_TP_DECODER R"(, "encoder": )" SMELT_TP_STACK
const ParallelCase kParallelCases[] = {
    {"gpt2", "{\"family\": \"gpt2\", " SMELT_TP_DECODER "}"},
    {"llama", "{\"family\": \"llama\", " SMELT_TP_GROUPED "}"},
    {"mistral", "{\"family\": \"mistral\", " SMELT_TP_GROUPED "}"},
    {"qwen2", "{\"family\": \"qwen2\", " SMELT_TP_GROUPED "}"},
    {"qwen3", "{\"family\": \"qwen3\", " SMELT_TP_GROUPED "}"},
    {"gemma", "{\"family\": \"gemma\", " SMELT_TP_GROUPED "}"},
    {"gemma2",
     "{\"family\": \"gemma2\", \"attention\": {\"window\": 2, \"layers\": "
     "[\"sliding_attention\"]}, " SMELT_TP_GROUPED "}"},
    {"bloom", "{\"family\": \"bloom\", " SMELT_TP_DECODER "}"},
    {"opt", "{\"family\": \"opt\", " SMELT_TP_DECODER "}"},
    {"gpt_neox", "{\"family\": \"gpt_neox\", \"positions\": {\"rotary_fraction\": 1}, " SMELT_TP_DECODER "}"},
    {"bert_masked", "{\"family\": \"bert\", " SMELT_TP_ENCODER R"(, "head": {"kind": "mlm", "bias": true}})"},
    {"bert_classes", "{\"family\": \"bert\", " SMELT_TP_ENCODER
                     R"(, "head": {"kind": "sequence_classes", "pooler": true, "classes": 3}})"},
    {"roberta", "{\"family\": \"roberta\", " SMELT_TP_ENCODER
                R"(, "head": {"kind": "mlm", "bias": true}, "tokens": {"pad": 1}})"},
    {"distilbert",
     "{\"family\": \"distilbert\", " SMELT_TP_ENCODER R"(, "head": {"kind": "mlm", "bias": true}})"},
    {"vit", R"({"family": "vit", "hidden": 8, "encoder": {"layers": 1, "heads": 4, "ffn": 12},
                "embedding": {"image_size": 4, "patch_size": 2, "channels": 2}, "head": {"classes": 3}})"},
    {"bart",
     "{\"family\": \"bart\", " SMELT_TP_BOTH R"(, "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}})"},
    {"marian",
     "{\"family\": \"marian\", " SMELT_TP_BOTH R"(, "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}})"},
    {"t5",
     "{\"family\": \"t5\", " SMELT_TP_BOTH R"(, "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}})"}};

TransformerSpec spec_of(const ParallelCase& c) { return spec_from_json(c.spec); }

struct ParallelOptions {
  Optimizer optimizer = Optimizer::adamw;
  double dropout = 0;
  int zero = 0;
  bool sequences = false;
  std::vector<CollectiveEntry>* log = nullptr;
};

void run_passes(Module& module, std::string_view pipeline) {
  PassManager passes;
  passes.add(pipeline);
  passes.run(module);
}

/// The entries of training in primitives, on one rank or over a mesh.
std::unique_ptr<Module> training_module(const TransformerSpec& spec, const std::string& mesh,
                                        const ParallelOptions& options) {
  BuildOptions build{.dropout = options.dropout};
  if (!mesh.empty()) build.mesh = parse_mesh(mesh);
  auto module = build_transformer(spec, build);
  std::erase_if(module->graphs, [](const auto& graph) { return graph->name != "loss"; });
  TrainingOptions training;
  training.optimizer.optimizer = options.optimizer;
  training.optimizer.clip_norm = 1;
  training.optimizer.weight_decay = 0.1;
  run_passes(*module, "decompose,simplify");
  flatten_parameters(*module, {});
  make_training_entries(*module, training);
  std::erase_if(module->graphs, [](const auto& graph) { return graph->name == "loss"; });
  run_passes(*module, "decompose,drop_stops,simplify,rewrite_reductions,simplify");
  if (mesh.empty()) return module;
  if (module->mesh().find("data")) shard_training(*module, {.zero = options.zero});
  run_passes(*module, options.sequences ? "shard_sequences,propagate_shardings" : "propagate_shardings");
  partition(*module, {.log = options.log});
  run_passes(*module, "reassociate_sums");
  for (const auto& graph : module->graphs) graph->prune();
  verify_or_throw(*module);
  return module;
}

/// Of every flat state its segments, in the shapes that the ranks' module has them in.
Tensors by_segments(const Module& module, const Module& local, const Tensors& states) {
  Tensors all;
  for (const auto& [name, tensor] : states) {
    const auto find = [&](const Module& in) { return std::ranges::find(in.states, name, &State::name); };
    const auto state = find(module), own = find(local);
    if (state == module.states.end() || !has_cut_segments(*own)) {
      all[name] = tensor;
      continue;
    }
    all.merge(segments_of(*state, tensor));
    for (const Segment& segment : own->segments)
      all[segment_key(name, segment.name)].shape = whole_shape(segment);
  }
  return all;
}

/// As a session has them after a step or two.
Tensors trained_states(const Module& module) {
  Tensors states = testing::random_states(module, 4, {});
  states["learning_rate"].data = {0.01};
  states["step"].data = {3};
  for (const char* sum : {"gradients", "loss_sum", "token_count"})
    if (states.contains(sum)) std::ranges::fill(states[sum].data, 0);
  return states;
}

Tensors in_shapes_of(const Module& local, Tensors parameters) {
  for (const State& state : local.states)
    for (const Segment& segment : state.segments)
      if (const auto found = parameters.find(segment.name); found != parameters.end())
        found->second.shape = whole_shape(segment);
  return parameters;
}

double squares(const Tensor& tensor) {
  double sum = 0;
  for (const double x : tensor.data) sum += x * x;
  return sum;
}

/// What an element of all tensors of this one's state may be off: a gradient may be zero but for what
/// cancels.
double mean_square(const std::string& key, const Tensors& all) {
  const std::string state = key.substr(0, key.find('/'));
  double sum = 0, count = 0;
  for (const auto& [name, tensor] : all)
    if (name.substr(0, name.find('/')) == state)
      sum += squares(tensor), count += static_cast<double>(tensor.data.size());
  return sum / count;
}

void expect_equal(const Tensors& actual, const Tensors& expected) {
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    const Tensor& other = actual.at(name);
    ASSERT_EQ(other.shape, tensor.shape) << name;
    Tensor difference = tensor;
    for (size_t i = 0; i < tensor.data.size(); ++i) difference.data[i] -= other.data[i];
    const double least = 1e-4 * mean_square(name, expected) * static_cast<double>(tensor.data.size());
    EXPECT_LE(std::sqrt(squares(difference)), 1e-12 * std::sqrt(std::max(squares(tensor), least))) << name;
  }
}

int64_t number_of_kind(const std::vector<CollectiveEntry>& log, std::string_view kind) {
  return std::ranges::count(log, kind, &CollectiveEntry::kind);
}

/// Whatever a step gives and leaves on one rank, it does over the mesh.
void expect_equal_steps(const TransformerSpec& spec, const std::string& mesh,
                        const ParallelOptions& options = {}) {
  SCOPED_TRACE(mesh);
  const auto one = training_module(spec, "", options), local = training_module(spec, mesh, options);
  EvaluateOptions evaluation;
  evaluation.symbols = {{"B", 2}, {"T", options.sequences ? 4 : 3}, {"S", options.sequences ? 8 : 3}};
  evaluation.philox = {11, 5, 0};
  const Tensors states = trained_states(*one);
  const Tensors given = in_shapes_of(*local, by_segments(*one, *local, states));
  for (const char* entry : {"train_step", "accumulate"}) {
    SCOPED_TRACE(entry);
    const Graph& whole = *one->find_graph(entry);
    const Tensors inputs = testing::random_inputs(whole, 3, evaluation.symbols, 12);
    const Evaluation expected = evaluate(whole, inputs, states, evaluation);
    const Evaluation actual = evaluate_ranks(*local->find_graph(entry), inputs, given, evaluation);
    expect_equal(actual.outputs, expected.outputs);
    expect_equal(actual.states, by_segments(*one, *local, expected.states));
  }
}

class TensorParallel : public ::testing::TestWithParam<ParallelCase> {};

/// Nothing is gathered on the way, logits least of all.
TEST_P(TensorParallel, StepIsThatOfOneRank) {
  std::vector<CollectiveEntry> log;
  expect_equal_steps(spec_of(GetParam()), "model=2", {.log = &log});
  EXPECT_FALSE(log.empty());
  for (const CollectiveEntry& entry : log) EXPECT_EQ(entry.kind, "all_reduce") << explain({entry});
}

/// The residual stream is cut along the sequence, too: what products sum is scattered, and what they read is
/// gathered.
TEST_P(TensorParallel, StepOverPartsOfSequencesIsThatOfOneRank) {
  std::vector<CollectiveEntry> log;
  expect_equal_steps(spec_of(GetParam()), "model=2", {.sequences = true, .log = &log});
  EXPECT_TRUE(spec_of(GetParam()).embedding.patch_size > 0 || number_of_kind(log, "reduce_scatter") > 0)
      << explain(log);
}

TEST(SequenceParallel, RandomNumbersAreThoseOfOneRank) {
  expect_equal_steps(spec_of(kParallelCases[0]), "model=4", {.dropout = 0.25, .sequences = true});
  expect_equal_steps(spec_of(kParallelCases[1]), "model=2", {.dropout = 0.25, .sequences = true});
}

TEST(SequenceParallel, BesideRanksWithBatchesOfTheirOwn) {
  expect_equal_steps(spec_of(kParallelCases[1]), "data=2,model=2", {.zero = 1, .sequences = true});
}

/// Before and behind every attention and FFN one collective of the size of the residual stream: backward
/// gathers what its products read again, so that no rank keeps it.
TEST(SequenceParallel, GathersBeforeAndScattersBehindEachPairOfProducts) {
  const TransformerSpec spec = spec_from_json(
      R"({"family": "gpt2", "vocab_size": 64, "hidden": 32, "max_positions": 8,
          "decoder": {"layers": 1, "heads": 4}})");
  std::vector<CollectiveEntry> log;
  training_module(spec, "model=2", {.sequences = true, .log = &log});
  std::erase_if(log, [](const CollectiveEntry& e) {
    return e.graph != "train_step" || e.type.find(",32]") == std::string::npos;
  });
  EXPECT_EQ(number_of_kind(log, "reduce_scatter"), 1 + 2 + 3) << explain(log);
  EXPECT_EQ(number_of_kind(log, "all_to_all"), 0) << explain(log);
  EXPECT_LE(number_of_kind(log, "all_gather"), 3 + 6 + 2) << explain(log);
}

TEST(SequenceParallel, SmallSumsOfGradientsAreOne) {
  const TransformerSpec spec = spec_of(kParallelCases[0]);
  const auto one = training_module(spec, "", {}),
             module = training_module(spec, "model=2", {.sequences = true});
  const Graph& graph = *module->find_graph("train_step");
  const auto count = [&] {
    return std::ranges::count_if(graph.nodes(), [](const auto& node) {
      return node->is(Op::collective) && node->get(attr::kind) == "all_reduce" && node->result()->rank() == 1;
    });
  };
  EXPECT_GT(count(), 4);
  const auto joined = module->clone();
  run_passes(*module, "join_sums");
  EXPECT_EQ(count(), 1);
  verify_or_throw(*module);
  EvaluateOptions evaluation;
  evaluation.symbols = {{"B", 2}, {"T", 4}};
  const Tensors states = in_shapes_of(*module, by_segments(*one, *module, trained_states(*one))),
                inputs = testing::random_inputs(*one->find_graph("train_step"), 3, evaluation.symbols, 12);
  const auto run = [&](const Module& of) {
    return evaluate_ranks(*of.find_graph("train_step"), inputs, states, evaluation).states;
  };
  expect_equal(run(*module), run(*joined));
}

INSTANTIATE_TEST_SUITE_P(All, TensorParallel, ::testing::ValuesIn(kParallelCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TensorParallelMeshes, DrawTheNumbersOfOneRank) {
  expect_equal_steps(spec_of(kParallelCases[0]), "model=4", {.dropout = 0.25});
  expect_equal_steps(spec_of(kParallelCases[1]), "model=2", {.dropout = 0.25});
}

TEST(TensorParallelMeshes, BesideRanksWithBatchesOfTheirOwn) {
  expect_equal_steps(spec_of(kParallelCases[0]), "data=2,model=2");
  expect_equal_steps(spec_of(kParallelCases[1]), "model=2,data=2", {.optimizer = Optimizer::lamb});
}

/// Moments of a rank's parts, of which ranks along data have parts.
TEST(TensorParallelMeshes, WithPartsOfTheMomentsOfParts) {
  expect_equal_steps(spec_of(kParallelCases[1]), "data=2,model=2", {.zero = 1});
}

TEST(TensorParallelMeshes, NormsCountWhatIsWholeOnce) {
  for (const Optimizer optimizer : {Optimizer::lamb, Optimizer::sgd})
    expect_equal_steps(spec_of(kParallelCases[0]), "model=4", {.optimizer = optimizer});
}

/// Words that the ranks do not divide are whole on each of them.
TEST(TensorParallelMeshes, OfAnOddVocabulary) {
  expect_equal_steps(spec_from_json(R"({"family": "llama", "vocab_size": 13, "hidden": 8, "max_positions": 8,
                         "decoder": {"layers": 2, "heads": 4, "kv_heads": 2, "ffn": 12}})"),
                     "model=2");
}

}  // namespace
}  // namespace smelt
