// @evaluate of models that have @loss alone, and what @loss must return.
#include "passes/graph/training/evaluation_entry.h"

#include <gtest/gtest.h>

#include "ir/graph/verifier.h"
#include "ir/text/text.h"
#include "passes/graph/training/training_entries.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

std::string model(const std::string& returned) {
  return R"(
symbols B <= 8
random_ids 2
parameter "w" {init = normal(0.02)} : f32[4]
graph @loss(%x: f32[B,4]) {
  %w = parameter "w"
  %b = broadcast %w {axes = [1]} : f32[B,4]
  %0 = mul %x, %b
  %1 = dropout %0 {p = 0.1, id = 0}
  %2 = dropout %1 {p = 0.2, id = 1}
  %sum = reduce add %2 {axes = [0, 1]}
  %rows = reduce add %2 {axes = [1]}
  %count = constant {value = 3} : f32[]
  return )" +
         returned + "\n}\n";
}

/// A batch leaves its mean in a state, as a batch norm does.
TEST(EvaluationEntry, ReadsStatesAndUpdatesNone) {
  const auto module = parse_module(R"(symbols B <= 8
state "mean" : f32[4]
graph @loss(%x: f32[B,4]) {
  %m = state "mean" : f32[4]
  %b = broadcast %m {axes = [1]} : f32[B,4]
  %y = sub %x, %b : f32[B,4]
  %s = reduce add %y {axes = [0]} : f32[4]
  update %s {state = "mean"}
  %sum = reduce add %y {axes = [0, 1]} : f32[]
  %count = constant {value = 1} : f32[]
  return loss_sum = %sum, token_count = %count
})");
  EXPECT_TRUE(make_evaluation_entry(*module));
  verify_or_throw(*module);
  const std::string text = print(*module->find_graph("evaluate"));
  EXPECT_NE(text.find("state \"mean\""), std::string::npos) << text;
  EXPECT_EQ(text.find("update"), std::string::npos) << text;
  EXPECT_NE(print(*module->find_graph("loss")).find("update"), std::string::npos);
}

TEST(EvaluationEntry, IsTheLossWithoutDropouts) {
  const auto module = parse_module(model("loss_sum = %sum, token_count = %count"));
  EXPECT_TRUE(make_evaluation_entry(*module));
  EXPECT_FALSE(make_evaluation_entry(*module)) << "it is there";
  verify_or_throw(*module);
  const Graph* evaluate = module->find_graph("evaluate");
  ASSERT_NE(evaluate, nullptr);
  EXPECT_EQ(evaluate->outputs.size(), 2u);
  EXPECT_EQ(print(*evaluate).find("dropout"), std::string::npos) << print(*evaluate);
  EXPECT_NE(print(*module->find_graph("loss")).find("dropout"), std::string::npos);
}

TEST(EvaluationEntry, NeedsAGraphOfTheLoss) {
  const auto module = parse_module("graph @main(%x: f32[3]) {\n  return y = %x\n}\n");
  EXPECT_FALSE(make_evaluation_entry(*module));
  EXPECT_EQ(module->graphs.size(), 1u);
}

std::string training_problem(const std::string& text) {
  const auto module = parse_module(text);
  try {
    make_training_entries(*module, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(TrainingEntries, SayWhatTheGraphOfTheLossReturns) {
  const auto expect = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  };
  expect(training_problem(model("loss_sum = %sum")),
         {"graph @loss: there is no output token_count", "its outputs are loss_sum: f32[]",
          "docs/guides/models.md"});
  expect(training_problem(model("loss_sum = %rows, tokens = %count")),
         {"loss_sum is f32[B], expected f32[]; there is no output token_count", "tokens: f32[]"});
  expect(training_problem("graph @main(%x: f32[3]) {\n  return y = %x\n}\n"), {"needs a graph @loss"});
}

}  // namespace
}  // namespace smelt
