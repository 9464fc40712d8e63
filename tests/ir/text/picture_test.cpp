#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ir/text/text.h"
#include "tests/support/random_graph.h"

namespace smelt {
namespace {

constexpr std::string_view kText = R"(
symbols B <= 8
parameter "h.0.w" {init = normal(0.02)} : f32[4,8]
graph @g(%x: f32[B,8]) {
  %w = parameter "h.0.w" "h.0.fc"
  %0 = matmul %x, %w "h.0.fc" {spec = "bc,oc->bo"}
  %1, %2 = fusion (%a = %0) "h.0.ln \"quoted\"" {phase = backward} {
    %e = exp %a
    %s = reduce add %e {axes = [1]}
    return %e, %s
  }
  %k = constant {value = inf} : f32[]
  return out = %1, k = %k
})";

TEST(Dot, ShowsWhatFusedAndGroupsLayers) {
  const std::string text = dot(*parse_module(kText)->graphs[0]);
  EXPECT_EQ(text.substr(0, 13), "digraph \"g\" {");
  EXPECT_NE(text.find("subgraph \"cluster h.0\""), std::string::npos);
  EXPECT_NE(text.find("matmul bc,oc->bo"), std::string::npos);
  EXPECT_NE(text.find("exp, reduce add"), std::string::npos) << text;
  EXPECT_NE(text.find("h.0.ln \\\"quoted\\\""), std::string::npos);
  EXPECT_NE(text.find("[label=\"f32[B,4]\"]"), std::string::npos);
  EXPECT_NE(text.find("out\\nf32[B,4]"), std::string::npos);
}

/// Three layers between an input and an output: one of them, and what it touches.
TEST(Dot, DrawsOneLayerWithItsNeighbours) {
  const auto module = parse_module(R"(
graph @g(%x: f32[4]) {
  %0 = exp %x "h.0.a"
  %1 = exp %0 "h.1.a"
  %2 = log %1 "h.1.b"
  %3 = exp %2 "h.2.a"
  %4 = log %3 "h.2.b"
  return out = %4
})");
  const Graph& graph = *module->graphs[0];
  EXPECT_EQ(typical_layer(graph), "h.1");
  const std::string text = dot(graph, [](const Node& node) { return layer_of(node) == "h.1"; });
  for (const char* part :
       {"cluster h.1", "n1 -> n2", "n2 -> n3", "n3 -> n4", "exp \\\"h.0.a\\\"", "exp \\\"h.2.a\\\""})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  for (const char* part : {"h.2.b", "n0", "cluster h.2", "out"})
    EXPECT_EQ(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_EQ(typical_layer(*parse_module("graph @g(%x: f32[4]) {\n  return y = %x\n}\n")->graphs[0]), "");
}

/// Every node and every operand is there once, whatever the graph.
TEST(Dot, HasANodeForEachAndAnEdgeForEachOperand) {
  const auto count = [](std::string_view text, std::string_view part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto module = testing::random_module(seed);
    const Graph& graph = *module->graphs[0];
    size_t operands = graph.outputs.size();
    for (const auto& node : graph.nodes()) operands += node->operands().size();
    const std::string text = dot(graph);
    EXPECT_EQ(count(text, " -> "), operands);
    for (size_t i = 0; i < graph.size(); ++i)
      EXPECT_EQ(count(text, fmt::format("n{} [label=", i)) - count(text, fmt::format("> n{} [label=", i)),
                1u);
  }
}

TEST(Json, DescribesNodesTypesAndBodies) {
  const auto module = parse_module(kText);
  const auto graph = nlohmann::json::parse(json(*module->graphs[0]));
  EXPECT_EQ(graph["name"], "g");
  EXPECT_EQ(graph["nodes"].size(), module->graphs[0]->size());
  const auto& matmul = graph["nodes"][2];
  EXPECT_EQ(matmul["op"], "matmul");
  EXPECT_EQ(matmul["source"], "h.0.fc");
  EXPECT_EQ(matmul["operands"], (std::vector<std::string>{"%x", "%w"}));
  EXPECT_EQ(matmul["results"][0]["type"], "f32[B,4]");
  EXPECT_EQ(matmul["results"][0]["shape"], nlohmann::json::parse("[\"B\", 4]"));
  EXPECT_EQ(matmul["attributes"]["spec"], "bc,oc->bo");
  EXPECT_EQ(graph["nodes"][3]["phase"], "backward");
  EXPECT_EQ(graph["nodes"][3]["body"]["nodes"][2]["reduce"], "add");
  EXPECT_EQ(graph["nodes"][4]["attributes"]["value"], "inf");
  EXPECT_EQ(graph["outputs"][0]["name"], "out");
  const auto whole = nlohmann::json::parse(json(*module));
  EXPECT_EQ(whole["parameters"][0]["name"], "h.0.w");
  EXPECT_EQ(whole["symbols"][0]["upper"], 8);
  EXPECT_EQ(whole["graphs"].size(), 1u);
}

}  // namespace
}  // namespace smelt
