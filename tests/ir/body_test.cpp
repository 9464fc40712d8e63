#include "ir/graph/body.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ir/evaluate/evaluator.h"
#include "ir/graph/builder.h"
#include "ir/graph/verifier.h"
#include "ir/text/text.h"

namespace smelt {
namespace {

constexpr std::string_view kText = R"(graph @g(%x: bf16[2,2], %w: bf16[2,2], %c: f32[2,2]) {
  %y, %z = matmul %x, %w (%acc, %c = %c) "fc" {spec = "bi,io->bo"} {
    %sum = add %acc, %c : f32[2,2]
    %rounded = convert %sum : bf16[2,2]
    %top = reduce max %sum {axes = [1]} : f32[2]
    return %rounded, %top
  } : bf16[2,2], f32[2]
  return y = %y, z = %z
}
)";

const Tensors kInputs = {{"x", {DType::bf16, {2, 2}, {1, 2, 3, 4}}},
                         {"w", {DType::bf16, {2, 2}, {5, 6, 7, 8}}},
                         {"c", {DType::f32, {2, 2}, {0.0625, 100, 0.5, -1000}}}};

TEST(Body, PrintsAsItWasWritten) {
  const auto module = parse_module(kText);
  EXPECT_TRUE(verify(*module).empty());
  EXPECT_EQ(print(*module), kText);
  EXPECT_EQ(print(*module->clone()), kText);
}

TEST(Body, InputsStandForTheProductAndTheLastOperands) {
  const auto module = parse_module(kText);
  const Node& matmul = *module->graphs[0]->outputs[0].value->node();
  EXPECT_EQ(own_operands(matmul), matmul.operands().take_front(2));
  EXPECT_EQ(str(handed_values(matmul).front()->type), "f32[2,2]");
  const auto arguments = body_arguments(matmul);
  ASSERT_EQ(arguments.size(), 1u);
  EXPECT_EQ(arguments[0].operand, matmul.operand(2));
  EXPECT_EQ(arguments[0].input, matmul.body->inputs()[1]->result());
}

TEST(Body, GoesOnFromTheUnroundedProduct) {
  const auto module = parse_module(kText);
  const Evaluation exact = evaluate(*module->graphs[0], kInputs, {}, {});
  EXPECT_EQ(exact.outputs.at("y").data, (std::vector<double>{19.0625, 122, 43.5, -950}));
  EXPECT_EQ(exact.outputs.at("z").data, (std::vector<double>{122, 43.5}));
  EvaluateOptions rounding;
  rounding.round = true;
  const Evaluation rounded = evaluate(*module->graphs[0], kInputs, {}, rounding);
  EXPECT_EQ(rounded.outputs.at("y").data, (std::vector<double>{19, 122, 43.5, -952}));
  EXPECT_EQ(rounded.outputs.at("z").data, (std::vector<double>{122, 43.5})) << "the maximum is f32";
}

TEST(Body, IsWrittenInCpp) {
  Module module;
  GraphBuilder b(module.add_graph("g"));
  Value* x = b.input("x", {DType::f32, {3, 5}});
  Value* w = b.input("w", {DType::f32, {7, 5}});
  Value* bias = b.input("b", {DType::f32, {7}});
  b.output("y", b.matmul(x, w, "bc,oc->bo", {bias}, [](GraphBuilder& body, llvm::ArrayRef<Value*> inputs) {
    return body.add(inputs[0], body.broadcast_leading(inputs[1], inputs[0]->shape()));
  }));
  EXPECT_TRUE(verify(module).empty());
  EXPECT_EQ(print(module), R"(graph @g(%x: f32[3,5], %w: f32[7,5], %b: f32[7]) {
  %0 = matmul %x, %w (%acc, %a0 = %b) {spec = "bc,oc->bo"} {
    %0 = broadcast %a0 {axes = [1]} : f32[3,7]
    %1 = add %acc, %0 : f32[3,7]
    return %1
  } : f32[3,7]
  return y = %0
}
)");
}

TEST(Body, StandsInPictures) {
  const auto module = parse_module(kText);
  EXPECT_NE(dot(*module->graphs[0]).find("matmul bi,io->bo\\nadd, convert, reduce max"), std::string::npos);
  const auto graph = nlohmann::json::parse(json(*module->graphs[0]));
  EXPECT_EQ(graph["nodes"][3]["operands"], (std::vector<std::string>{"%x", "%w", "%c"}));
  EXPECT_EQ(graph["nodes"][3]["body"]["nodes"][2]["op"], "add");
}

}  // namespace
}  // namespace smelt
