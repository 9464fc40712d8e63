#include "ir/graph/verifier.h"

#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include "ir/graph/builder.h"
#include "ir/text/text.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// One message, holding all the given parts.
void expect_message(const Module& module, std::initializer_list<std::string_view> parts) {
  const std::vector<std::string> messages = verify(module);
  ASSERT_EQ(messages.size(), 1u) << fmt::format("{}", fmt::join(messages, "\n"));
  for (std::string_view part : parts)
    EXPECT_NE(messages[0].find(part), std::string::npos) << messages[0] << "\nlacks " << part;
  EXPECT_THROW(verify_or_throw(module), Error);
}

std::unique_ptr<Module> parsed() {
  return parse_module(R"(
symbols B <= 4, T <= 8, B*T <= 16
parameter "w" : f32[6,8]
state "s" : f32[8]
state "flat" : f32[32] {
  segment "a" : [8] at 0
  segment "b" : [2,4] at 16
}
graph @g(%x: f32[B,T,8], %y: f32[8]) {
  %w = parameter "w"
  %s = state "s"
  %0 = matmul %x, %w "h.0.fc" {spec = "btc,oc->bto"}
  %n = layer_norm %x, %y "h.0.ln" {eps = 1e-5}
  %d = dropout %x {p = 0.5, id = 3}
  %sum = add %s, %y
  %f, %total = fusion (%a = %sum) "h.0.f" {
    %e = exp %a
    %r = reduce add %e {axes = [0]}
    return %e, %r
  }
  return out = %0, n = %n, d = %d
})");
}

TEST(Verifier, RandomBitsRoundOnlyToBf16) {
  const auto text = [](const char* type) {
    return fmt::format(
        "random_ids 1\ngraph @g(%x: f32[4]) {{\n  %r = random {{id = 0}} : i32[4]\n"
        "  %y = convert %x, %r : {}[4]\n  return y = %y\n}}",
        type);
  };
  EXPECT_NO_THROW(parse_module(text("bf16")));
  EXPECT_THROW(parse_module(text("f16")), Error);
  EXPECT_THROW(parse_module(text("f32")), Error);
}

/// What a graph of one node on %x: f32[5,4] and %w: f32[6,2,3] is refused for.
std::string refusal_of(const std::string& node) {
  try {
    const auto module = parse_module(
        "symbols T <= 9\ngraph @g(%x: f32[5,4], %s: f32[2,T,4], %w: f32[6,2,3], "
        "%i: i32[5], %b: f32[5,4]) {\n  %y = " +
        node + "\n  return y = %y\n}\n");
    const std::vector<std::string> messages = verify(*module);
    return messages.empty() ? "" : messages[0];
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Verifier, WindowsFitIntoTheirDim) {
  const auto expect = [](const std::string& node, std::string_view message) {
    EXPECT_NE(refusal_of(node).find(message), std::string::npos) << node << ": " << refusal_of(node);
  };
  EXPECT_EQ(refusal_of("windows %x {axis = 0, size = 3, dilation = 2}"), "");
  expect("windows %x {axis = 0, size = 4, dilation = 2}",
         "windows: no window of 4 elements, 2 apart, fits into the 5 along axis 0");
  expect("windows %x {axis = 0, size = 0}", "attribute 'size' is 0, expected at least 1");
  expect("windows %x {axis = 2, size = 1}", "axis 2 is outside a tensor of rank 2");
  expect("strided_slice %x {axis = 0, begin = 1, step = 2} : f32[3,4]",
         "strided_slice: 3 elements from 1 on, every 2th, are not all inside dim 0 of f32[5,4]");
  expect("strided_slice %x {axis = 0, begin = 1, step = 0} : f32[3,4]", "attribute 'step' is 0");
  expect("pad %x {axis = 0, low = -1, high = 0, value = 0}", "attribute 'low' is -1, expected at least 0");
}

TEST(Verifier, ConvolutionsFitTheirChannels) {
  const auto expect = [](const std::string& node, std::string_view message) {
    EXPECT_NE(refusal_of(node).find(message), std::string::npos) << node << ": " << refusal_of(node);
  };
  expect("conv %s, %w", "with 1 groups x has 2 channels");
  expect("conv %x, %w", "expected [batch,channels,...] and [out,channels/groups,...] of one rank");
  const std::string turned = "conv %w, %w {groups = 1, ";
  expect(turned + "strides = [1, 1]}", "attribute 'strides' has 2 numbers, expected 1");
  expect(turned + "pads = [1, -1]}", "attribute 'pads' has -1, expected at least 0");
  expect(turned + "dilations = [0]}", "attribute 'dilations' has 0, expected at least 1");
  EXPECT_EQ(refusal_of("conv %w, %w {pads = [1, 1]}"), "");
}

TEST(Verifier, ScatteredRowsAreOfTheTable) {
  EXPECT_EQ(refusal_of("scatter %x, %i, %b {axis = 0}"), "");
  EXPECT_NE(refusal_of("scatter %x, %i, %b {axis = 1}").find("expected shape [5,5]"), std::string::npos);
  EXPECT_NE(refusal_of("scatter %x, %b, %b {axis = 0}").find("expected integers"), std::string::npos);
}

TEST(Verifier, LabelSmoothingLeavesTheTargetAShare) {
  const auto messages = [](double smoothing) {
    return verify(
        *parse_module(fmt::format("graph @g(%x: f32[3,5], %t: i32[3]) {{\n"
                                  "  %y = cross_entropy %x, %t {{label_smoothing = {}}}\n  return y = %y\n}}",
                                  smoothing)));
  };
  EXPECT_TRUE(messages(0.0).empty());
  EXPECT_TRUE(messages(1.25).empty()) << "all of it on the four other classes";
  ASSERT_EQ(messages(1.26).size(), 1u);
  EXPECT_NE(messages(1.26)[0].find("attribute 'label_smoothing' is 1.26, expected it in [0, 1.25]"),
            std::string::npos);
}

class BrokenBody : public ::testing::Test {
 protected:
  std::unique_ptr<Module> module = parse_module(R"(
graph @g(%x: bf16[3,5], %w: bf16[5,7], %c: f32[3,7]) {
  %y = matmul %x, %w (%acc, %c = %c) "fc" {spec = "bi,io->bo"} {
    %sum = add %acc, %c
    %rounded = convert %sum : bf16[3,7]
    return %rounded
  }
  return y = %y
})");
  Graph& graph = *module->graphs[0];
  Node& matmul = *graph.outputs[0].value->node();
};

TEST_F(BrokenBody, WholeItIsWellFormed) {
  for (const std::string& message : verify(*module)) ADD_FAILURE() << message;
  EXPECT_EQ(str(matmul.result()->type), "bf16[3,7]");
}

TEST_F(BrokenBody, OperandCount) {
  matmul.add_operand(matmul.operand(2));
  expect_message(*module, {"matmul \"fc\": its body has 2 inputs for 4 operands"});
}

TEST_F(BrokenBody, ArgumentType) {
  matmul.operand(2)->type.shape = {7, 3};
  expect_message(*module, {"matmul \"fc\": input 1 of its body is f32[3,7], expected f32[7,3]"});
}

TEST_F(BrokenBody, ProductType) {
  matmul.set(attr::spec, std::string("bi,io->ob"));
  expect_message(*module, {"matmul \"fc\": input 0 of its body is f32[3,7], expected f32[7,3]"});
}

TEST_F(BrokenBody, ResultType) {
  matmul.result()->type.dtype = DType::f32;
  expect_message(*module, {"matmul \"fc\": the result is (f32[3,7]), expected (bf16[3,7])"});
}

TEST_F(BrokenBody, RoundingBeforeTheBody) {
  matmul.set(attr::result, std::string("bf16"));
  expect_message(*module, {"matmul \"fc\": the body says what the accumulator becomes; leave 'result' out"});
}

TEST_F(BrokenBody, MissingBody) {
  matmul.body = nullptr;
  expect_message(*module, {"matmul \"fc\": 3 operands, expected 2 and those that a body takes"});
}

TEST_F(BrokenBody, OperationInside) {
  GraphBuilder(*matmul.body).reshape(matmul.body->outputs[0].value, {21});
  expect_message(*module, {"in matmul \"fc\": reshape: this operation cannot stand in a body"});
}

TEST_F(BrokenBody, OperationAround) {
  Node* sum = GraphBuilder(graph).neg(matmul.operand(2))->node();
  sum->body = std::make_unique<Graph>(*module);
  expect_message(*module, {"neg: this operation takes no body"});
}

TEST(Verifier, AcceptsAWellFormedModule) {
  EXPECT_TRUE(verify(*parsed()).empty());
  EXPECT_NO_THROW(verify_or_throw(*parsed()));
}

class Broken : public ::testing::Test {
 protected:
  std::unique_ptr<Module> module = parsed();
  Graph& graph = *module->graphs[0];
  Node* node(Op op) {
    for (const auto& each : graph.nodes())
      if (each->is(op)) return each.get();
    return nullptr;
  }
};

TEST_F(Broken, OperandBelowItsUser) {
  graph.move_before(node(Op::matmul), graph.nodes().front().get());
  expect_message(*module, {"@g: matmul \"h.0.fc\": operand 0 is not defined above it in this graph"});
}

TEST_F(Broken, ResultType) {
  node(Op::matmul)->result()->type.shape[2] = 7;
  expect_message(*module, {"@g: matmul \"h.0.fc\": the result is (f32[B,T,7]), expected (f32[B,T,6])",
                           "in %0 = matmul %x, %w", "where B <= 4, T <= 8, B*T <= 16"});
}

TEST_F(Broken, OperandType) {
  node(Op::matmul)->set(attr::spec, std::string("btc,co->bto"));
  expect_message(*module, {"matmul \"h.0.fc\": 'c' is 8 in one operand and 6 in f32[6,8]"});
}

TEST_F(Broken, Tf32) {
  node(Op::matmul)->attributes[attr::tf32] = std::string("yes");
  expect_message(*module, {"matmul \"h.0.fc\"", "attribute 'tf32' is \"yes\", expected true or false"});
}

TEST_F(Broken, MissingAttribute) {
  node(Op::layer_norm)->attributes.remove(attr::eps);
  expect_message(*module, {"layer_norm \"h.0.ln\": attribute 'eps' must be given and be a number"});
}

TEST_F(Broken, NormWeight) {
  node(Op::layer_norm)->set_operand(1, node(Op::matmul)->result());
  expect_message(*module, {"layer_norm \"h.0.ln\": operand 1 is f32[B,T,6], expected [8]"});
}

TEST_F(Broken, Probability) {
  node(Op::dropout)->set(attr::p, 1.0);
  expect_message(*module, {"dropout: attribute 'p' is 1, expected it in [0, 1)"});
}

TEST_F(Broken, AnchorInTheForwardPhase) {
  node(Op::dropout)->anchored = true;
  expect_message(*module, {"dropout: it is anchored in the forward phase"});
  node(Op::dropout)->phase = Phase::backward;
  EXPECT_TRUE(verify(*module).empty());
}

TEST_F(Broken, UndeclaredSymbol) {
  GraphBuilder(graph).constant(1, {DType::f32, {Dim::symbol("Q")}});
  expect_message(*module, {"constant: the result's shape [Q] uses the symbol Q, which is not declared",
                           "(declared: B <= 4, T <= 8, B*T <= 16)"});
}

TEST_F(Broken, SizeBeyond64Bits) {
  GraphBuilder(graph).constant(1, {DType::f32, {int64_t{1} << 40, int64_t{1} << 30}});
  expect_message(*module, {"has no bounded size"});
}

TEST_F(Broken, UndeclaredParameter) {
  module->parameters.clear();
  expect_message(*module, {"parameter: parameter \"w\" is not declared"});
}

TEST_F(Broken, ParameterOfAnotherType) {
  module->parameters[0].type.dtype = DType::bf16;
  expect_message(*module, {"parameter \"w\" is declared as bf16[6,8], used as f32[6,8]"});
}

TEST_F(Broken, SymbolicParameter) {
  module->parameters.push_back({"v", {DType::f32, {Dim::symbol("B")}}, {}, true, {}, false});
  expect_message(*module, {"parameter \"v\" is f32[B], expected constant sizes"});
}

TEST_F(Broken, UpdateOfAnUnknownState) {
  GraphBuilder(graph).update("nowhere", node(Op::state)->result());
  expect_message(*module, {"update: state \"nowhere\" is not declared"});
}

TEST_F(Broken, UpdateOfAnotherShape) {
  GraphBuilder(graph).update("s", node(Op::matmul)->result());
  expect_message(*module, {"update: state \"s\" is declared as f32[8], used as f32[B,T,6]"});
}

TEST_F(Broken, SecondUpdate) {
  GraphBuilder(graph).update("s", node(Op::state)->result());
  GraphBuilder(graph).update("s", node(Op::state)->result());
  expect_message(*module, {"update: a second update of all of state \"s\""});
}

TEST_F(Broken, UpdateAtAnIndexWithoutAnAxis) {
  GraphBuilder b(graph);
  Value* index = b.scalar(0, DType::i32);
  b.create(Op::update, {node(Op::state)->result(), index}, {attr::state("s")});
  expect_message(*module, {"update: attribute 'axis' must be given"});
}

TEST(Verifier, InsertOfWhatDoesNotFit) {
  const auto expect = [](const Shape& value, const Shape& index, std::vector<int64_t> axes,
                         std::string_view message) {
    const auto module = parsed();
    GraphBuilder b(*module->graphs.front());
    const llvm::SmallVector<Value*, 2> indices(axes.size(), b.constant(0, {DType::i32, index}));
    b.insert(b.constant(0, {DType::f32, {4, 3}}), b.constant(0, {DType::f32, value}), indices, axes);
    expect_message(*module, {message});
  };
  expect({2, 5}, {}, {0}, "insert: a value of f32[2,5] is longer along axis 1 than f32[4,3]");
  expect({2, 3}, {3}, {0}, "insert: an index operand is i32[3], expected the leading dims of f32[2,3]");
  expect({2, 3}, {}, {2}, "insert: axis 2 is outside f32[2,3]");
  expect({2, 3}, {}, {0, 0}, "insert: axis 0 is given twice");
}

TEST_F(Broken, PackOfTheWrongSegments) {
  GraphBuilder b(graph);
  b.create(Op::pack, {node(Op::state)->result(), node(Op::state)->result()}, {attr::state("flat")},
           Type{DType::f32, {32}});
  EXPECT_TRUE(verify(*module).empty());
  b.create(Op::pack, {node(Op::state)->result(), b.scalar(1)}, {attr::state("flat")}, Type{DType::f32, {32}});
  expect_message(*module, {"pack: operand 1 is f32[], segment \"b\" of state \"flat\" has 8 elements"});
}

TEST_F(Broken, OverlappingSegments) {
  module->find_state("flat")->segments[1].offset = 4;
  expect_message(*module,
                 {"segment \"b\" of state \"flat\" begins at 4, inside the one before it, which ends at 8"});
}

TEST_F(Broken, SegmentsBeyondTheState) {
  module->find_state("flat")->segments[1].offset = 25;
  expect_message(*module, {"the segments of state \"flat\" need 33 elements, its shape is [32]"});
}

TEST_F(Broken, FusionOperandCount) {
  node(Op::fusion)->add_operand(node(Op::state)->result());
  expect_message(*module, {"fusion \"h.0.f\": its body has 1 inputs for 2 operands"});
}

TEST_F(Broken, FusionWithoutBody) {
  node(Op::fusion)->body = nullptr;
  expect_message(*module, {"fusion \"h.0.f\": 1 operands, expected 0 and those that a body takes"});
}

TEST_F(Broken, FusionResult) {
  node(Op::fusion)->result(0)->type.shape = {7};
  expect_message(*module, {"fusion \"h.0.f\": the result is (f32[7], f32[]), expected (f32[8], f32[])"});
}

TEST_F(Broken, FusionBody) {
  Graph& body = *node(Op::fusion)->body;
  GraphBuilder(body).reshape(body.outputs[0].value, {2, 4});
  expect_message(*module, {"@g: in fusion \"h.0.f\": reshape: this operation cannot stand in a body"});
}

TEST_F(Broken, OutputOfAnotherGraph) {
  graph.outputs.push_back({"alien", node(Op::fusion)->body->outputs[0].value});
  expect_message(*module, {"@g: output \"alien\" is not a value of this graph"});
}

TEST_F(Broken, OutputsOfOneName) {
  graph.outputs.push_back({"out", graph.outputs[1].value});
  expect_message(*module, {"@g: two outputs are called \"out\""});
}

TEST_F(Broken, InputsOfOneName) {
  GraphBuilder(graph).input("x", {DType::f32, {}});
  expect_message(*module, {"input: a second input is called \"x\""});
}

TEST_F(Broken, Layout) {
  node(Op::matmul)->result()->layout = Layout{0, 0, {1, 2, 3}};
  expect_message(*module, {"it lies in buffer 0, of 0"});
  module->buffers.emplace_back();
  node(Op::matmul)->result()->layout->strides.pop_back();
  expect_message(*module, {"its layout has 2 strides for rank 3"});
}

TEST_F(Broken, DoubleDeclarations) {
  module->states.push_back(module->states[0]);
  expect_message(*module, {"state \"s\" is declared twice"});
}

TEST_F(Broken, AdjacentGroups) {
  ASSERT_GE(module->parameters.size(), 1u);
  const std::string known = module->parameters[0].name;
  module->parameters.push_back(module->parameters[0]);
  module->parameters.back().name = "second";
  module->adjacent = {{known, "second"}};
  EXPECT_TRUE(verify(*module).empty());
  module->adjacent = {{known, "nobody"}};
  expect_message(*module, {"adjacent parameter \"nobody\" is not declared"});
  module->adjacent = {{known}};
  expect_message(*module, {"an adjacent group holds 1 parameters, expected at least 2"});
  module->adjacent = {{known, "second", known}};
  expect_message(*module, {"stands in two places of adjacent groups"});
  module->adjacent = {{"second", known}, {known, "second"}};
  EXPECT_EQ(verify(*module).size(), 2u);
}

TEST_F(Broken, SeveralFaultsAreAllReported) {
  node(Op::matmul)->result()->type.shape[2] = 7;
  node(Op::layer_norm)->attributes.remove(attr::eps);
  node(Op::dropout)->set(attr::id, int64_t{-1});
  EXPECT_EQ(verify(*module).size(), 3u);
}

/// A reduction over no axes is its operand; one of several results has no operand to be.
TEST(Verifier, ReductionsOfSeveralResultsHaveAxes) {
  EXPECT_THROW(parse_module("graph @main(%x: f32[3]) {\n  %a, %b = reduce max_sumexp %x {axes = []}\n}\n"),
               Error);
  EXPECT_NO_THROW(parse_module("graph @main(%x: f32[3]) {\n  %a = reduce add %x {axes = []} : f32[3]\n}\n"));
}

}  // namespace
}  // namespace smelt
