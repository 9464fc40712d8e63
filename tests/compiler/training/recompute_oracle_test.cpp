// A training step that computes parts of its forward phase again is the same step: in float64, of every
// family, for every policy.
#include <gtest/gtest.h>

#include "frontend/description.h"
#include "ir/graph/verifier.h"
#include "passes/graph/autodiff/rematerialize.h"
#include "passes/graph/reductions/rewrite_reductions.h"
#include "passes/graph/simplify/simplify.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/training_entries.h"
#include "tests/support/primitive_run.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

/// The training step of a description, as rematerialize takes it.
std::unique_ptr<Module> prepared_step(const fs::path& model, bool keeps_attention) {
  BuildOptions build;
  build.training = true;
  build.dropout = 0.2;
  auto module = read_description(model).build(build);
  std::erase_if(module->graphs, [](const auto& graph) { return graph->name != "loss"; });
  DecomposeOptions options;
  if (keeps_attention) options.keep = {Op::attention, Op::attention_grad};
  decompose(*module->graphs[0], options);
  flatten_parameters(*module, {});
  make_training_entries(*module, {});
  std::erase_if(module->graphs, [](const auto& graph) { return graph->name != "train_step"; });
  Graph& graph = *module->graphs[0];
  decompose(graph, options);
  simplify(graph, {});
  rewrite_reductions(graph, {});
  simplify(graph, {});
  return module;
}

Evaluation step_of(const Module& module) {
  EvaluateOptions options;
  options.symbols = {{"B", 2}, {"T", 3}, {"S", 3}};
  options.philox.seed = 9;
  const Graph& graph = *module.graphs[0];
  Tensors states = testing::random_states(module, 4, options.symbols);
  return evaluate(graph, testing::random_inputs(graph, 3, options.symbols), states, options);
}

void expect_same(const Evaluation& actual, const Evaluation& expected, const std::string& what) {
  for (const auto tensors : {&Evaluation::outputs, &Evaluation::states})
    for (const auto& [name, tensor] : expected.*tensors)
      EXPECT_LE(testing::relative_error((actual.*tensors).at(name), tensor), 1e-12) << name << ", " << what;
}

size_t matmuls(const Module& module) {
  size_t count = 0;
  for (const auto& node : module.graphs[0]->nodes()) count += node->is(Op::matmul) || node->is(Op::attention);
  return count;
}

class Recomputed : public ::testing::TestWithParam<std::string> {};

TEST_P(Recomputed, StepIsTheSame) {
  const fs::path model = fs::path(SMELT_SOURCE_DIR) / "tests/goldens" / GetParam();
  for (const bool keeps_attention : {false, true}) {
    const auto before = prepared_step(model, keeps_attention);
    const Evaluation expected = step_of(*before);
    for (const char* text : {"price=inf", "layers", "price=inf,layers=2,share=0.5,rest=100000"}) {
      const auto module = before->clone();
      Graph& graph = *module->graphs[0];
      RematerializeReport report;
      EXPECT_TRUE(rematerialize(graph, {.report = &report, .policy = parse_recompute_policy(text)}));
      simplify(graph, {});
      verify_or_throw(*module);
      EXPECT_GT(matmuls(*module), matmuls(*before)) << text;
      EXPECT_LT(report.bytes_after, report.bytes_before) << text;
      expect_same(step_of(*module), expected, text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Recomputed,
                         ::testing::Values("gpt2", "gpt-neox", "llama-packed", "gemma2", "opt-post",
                                           "roberta", "bert-multi", "bart-uneven", "t5-gated", "vit-odd"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace smelt
