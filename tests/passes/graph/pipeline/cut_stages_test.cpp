#include "passes/graph/pipeline/cut_stages.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"
#include "ir/graph/verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/pipeline/assign_parts.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

Value* matrix(GraphBuilder& b, const std::string& name, int64_t rows, int64_t columns) {
  Module::Parameter parameter;
  parameter.name = name;
  parameter.type = {DType::f32, {rows, columns}};
  return b.parameter(parameter);
}

/// Blocks x + w2 relu(w1 x) of these widths behind each other; without residual connections there is no
/// trunk.
std::unique_ptr<Module> blocks(const std::vector<int64_t>& widths, bool has_trunk = true) {
  auto module = std::make_unique<Module>();
  module->symbols.bound({"B"}, 8);
  Graph& graph = module->add_graph("loss");
  GraphBuilder b(graph);
  Value* x = b.input("x", {DType::f32, {Dim::symbol("B"), 4}});
  Value* mask = b.neg(b.input("mask", {DType::f32, {Dim::symbol("B"), 4}}));
  for (size_t i = 0; i < widths.size(); ++i) {
    const auto weight = [&](const char* name, int64_t rows, int64_t columns) {
      return matrix(b, fmt::format("{}.{}", name, i), rows, columns);
    };
    Value* inner = b.matmul(x, weight("up", widths[i], 4), "bc,oc->bo");
    Value* outer = b.matmul(b.max(inner, b.like(inner, 0)), weight("down", 4, widths[i]), "bc,oc->bo");
    x = has_trunk ? b.add(x, b.mul(outer, mask)) : b.mul(outer, mask);
  }
  Value* last = b.matmul(x, matrix(b, "head", 4, 4), "bc,oc->bo");
  b.output("loss_sum", b.sum(last, {0, 1}));
  b.output("token_count", b.sum(mask, {0, 1}));
  verify_or_throw(*module);
  return module;
}

std::string error_of_cut(Module& module, const CutStagesOptions& options) {
  try {
    cut_stages(module, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const Module::Parameter& parameter : module.parameters) names.push_back(parameter.name);
  return names;
}

TEST(CutStages, PartsCostAboutTheSame) {
  const auto module = blocks({1 << 16, 1 << 16, 1 << 18});
  // Behind the second block: the third costs as much as two of the others would twice over.
  EXPECT_EQ(choose_part_ends(*module->graphs[0], 2, {.rates = rates_of({})}), (PartEnds{1}));
}

TEST(CutStages, SendsTheTrunkAndMakesMasksAgain) {
  auto module = blocks({8, 8, 8, 8});
  ASSERT_TRUE(cut_stages(*module, {.stages = 2, .stage = 1}));
  verify_or_throw(*module);
  const Graph& part = *module->find_graph("loss.1");
  EXPECT_TRUE(part.find_input("values.1.0"));
  EXPECT_FALSE(part.find_input("values.1.1"));
  EXPECT_TRUE(llvm::any_of(part.nodes(), [](const auto& node) { return node->is(ScalarOp::neg); }));
  EXPECT_FALSE(module->find_graph("loss"));
  EXPECT_FALSE(module->find_graph("loss.0"));
  EXPECT_TRUE(module->find_graph(kBatchEntry));
  EXPECT_EQ(module->stage, 1);
  EXPECT_EQ(names_of(*module).back(), "head");
  EXPECT_EQ(llvm::count(names_of(*module), "up.0"), 0);
}

TEST(CutStages, PartsLieOnStagesInTurns) {
  auto module = blocks({8, 8, 8, 8});
  cut_stages(*module, {.stages = 2, .parts_a_stage = 2, .stage = 0});
  EXPECT_TRUE(module->find_graph("loss.0") && module->find_graph("loss.2"));
  EXPECT_FALSE(module->find_graph("loss.1") || module->find_graph("loss.3"));
  EXPECT_EQ(part_number("loss.2", "loss"), 2);
  EXPECT_EQ(part_number("loss.x", "loss"), std::nullopt);
  EXPECT_EQ(part_number("losses.2", "loss"), std::nullopt);
}

TEST(CutStages, WhatCannotBeCutIsSaid) {
  EXPECT_NE(error_of_cut(*blocks({8, 8, 8}, false), {.stages = 2}).find("has no residual trunk"),
            std::string::npos);
  EXPECT_NE(error_of_cut(*blocks({8, 8}), {.stages = 40}).find("parts; 40 are asked for"), std::string::npos);
  EXPECT_NE(error_of_cut(*blocks({8, 8}), {.stages = 2, .loss = "lost"}).find("no graph @lost"),
            std::string::npos);
  auto module = blocks({8, 8, 8});
  for (Graph::Output& output : module->graphs[0]->outputs)
    if (output.name == "token_count") output.value = module->graphs[0]->outputs[0].value;
  EXPECT_NE(error_of_cut(*module, {.stages = 2}).find("token_count depends on parameters"),
            std::string::npos);
}

}  // namespace
}  // namespace smelt
