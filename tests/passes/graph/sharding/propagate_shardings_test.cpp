#include "passes/graph/sharding/propagate_shardings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "passes/graph/sharding/partition.h"
#include "passes/graph/sharding/sums.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// The shardings of all named values of @g, as text.
std::map<std::string, std::string> propagated(std::string_view text,
                                              std::vector<ShardingEntry>* log = nullptr) {
  const auto module = parse_module(text);
  EXPECT_TRUE(propagate_shardings(*module->graphs.at(0), {.log = log}));
  EXPECT_FALSE(propagate_shardings(*module->graphs[0], {})) << "a second time";
  std::map<std::string, std::string> shardings;
  for (const auto& node : module->graphs[0]->nodes())
    for (const auto& result : node->results())
      shardings[result->name] = str(result->sharding.value(), module->mesh());
  return shardings;
}

std::string graph(std::string_view arguments, std::string_view nodes) {
  return fmt::format("mesh {{data = 2, model = 4}} symbols B <= 8, T <= 8 graph @g({}) {{ {} }}", arguments,
                     nodes);
}

TEST(PropagateShardings, AlongFactorsBothWays) {
  const auto of =
      propagated(graph("%x: f32[B,T,8] on [data, -, -], %w: f32[16,8] on [model, -], %y: f32[B,T,16]",
                       "%flat = reshape %x : f32[B*T,8] %h = matmul %flat, %w {spec = \"rc,oc->ro\"} %back = "
                       "reshape %h : f32[B,T,4,4] "
                       "%turned = transpose %back {permutation = [2, 0, 1, 3]} %same = reshape %turned : "
                       "f32[4,B*T,4] %wide = reshape "
                       "%y : f32[B,T,4,4] %sum = add %back, %wide return r = %same, s = %sum"));
  EXPECT_EQ(of.at("flat"), "[data, -]");
  EXPECT_EQ(of.at("h"), "[data, model]");
  EXPECT_EQ(of.at("back"), "[data, -, model, -]");
  EXPECT_EQ(of.at("turned"), "[model, data, -, -]");
  EXPECT_EQ(of.at("same"), "[model, data, -]");
  EXPECT_EQ(of.at("y"), "[data, -, model]") << "backward through the sum and the reshape";
}

/// Ones that are counted, and positions: cut with the batch, unless somebody needs all of them.
TEST(PropagateShardings, LeavesAsLongAsTheBatchAreCut) {
  const auto of =
      propagated(graph("%x: f32[B,8] on [data, -], %s: f32[]",
                       "%one = constant {value = 1} : f32[B,3] %count = reduce add %one {axes = [0, 1]} "
                       "%all = broadcast %s {axes = []} : f32[B] %total = reduce add %all {axes = [0]} "
                       "%place = iota {axis = 0} : i32[B] %far = reduce max %place {axes = [0]} "
                       "%steps = iota {axis = 0} : i32[B] %added = scan %steps {axis = 0, kind = \"add\"} "
                       "%other = constant {value = 1} : f32[T] %length = reduce add %other {axes = [0]} "
                       "return x = %x, c = %count, t = %total, f = %far, a = %added, l = %length"));
  EXPECT_EQ(of.at("one"), "[data, -]");
  EXPECT_EQ(of.at("all"), "[data]");
  EXPECT_EQ(of.at("place"), "[data]");
  EXPECT_EQ(of.at("steps"), "[-]") << "a scan needs all of it";
  EXPECT_EQ(of.at("other"), "[-]") << "T is cut by nobody";
}

/// Addends go through a type that holds all numbers of theirs, and no other.
TEST(PropagateShardings, AddendsAreNotRounded) {
  const auto passes = [](DType from, DType to) {
    const auto module = parse_module(fmt::format(
        "graph @g(%x: {0}[4]) {{ %y = convert %x : {1}[4] return y = %y }}", name(from), name(to)));
    const Node& convert = *module->graphs[0]->outputs[0].value->node();
    return passes_partial(convert, [](unsigned) { return true; });
  };
  EXPECT_TRUE(passes(DType::bf16, DType::f32));
  EXPECT_TRUE(passes(DType::f16, DType::f32));
  EXPECT_TRUE(passes(DType::f32, DType::f64));
  EXPECT_FALSE(passes(DType::bf16, DType::f16));
  EXPECT_FALSE(passes(DType::f16, DType::bf16));
  EXPECT_FALSE(passes(DType::f32, DType::bf16));
  EXPECT_FALSE(passes(DType::i32, DType::f32));
}

TEST(PropagateShardings, WhatIsWrittenStays) {
  const auto of = propagated(
      "mesh {data = 2} parameter \"w\" : f32[4] state \"m\" : f32[4] on [data] graph @g(%x: f32[4] on "
      "[data]) { %w = "
      "parameter \"w\" %m = state \"m\" %y = add %x, %w %z = neg %y : f32[4] on [-] %v = add %z, %m return z "
      "= %z, v = "
      "%v }");
  EXPECT_EQ(of.at("w"), "[-]");
  EXPECT_EQ(of.at("m"), "[data]");
  EXPECT_EQ(of.at("y"), "[data]");
  EXPECT_EQ(of.at("z"), "[-]");
  EXPECT_EQ(of.at("v"), "[data]");
}

/// Of two letters that want one axis that of the larger operand gets it.
TEST(PropagateShardings, FewerBytesWin) {
  constexpr std::string_view nodes = "%y = matmul %x, %w {spec = \"bc,oc->bo\"} return y = %y";
  EXPECT_EQ(propagated(graph("%x: f32[64,8] on [model, -], %w: f32[4,8] on [model, -]", nodes)).at("y"),
            "[model, -]");
  EXPECT_EQ(propagated(graph("%x: f32[4,8] on [model, -], %w: f32[64,8] on [model, -]", nodes)).at("y"),
            "[-, model]");
}

TEST(PropagateShardings, DimsThatRanksDoNotDivideStayWhole) {
  const auto of = propagated(graph("%x: f32[8] on [model]",
                                   "%y = slice %x {axis = 0, begin = 0} : f32[6] %z = reshape "
                                   "%x : f32[2,4] return y = %y, z = %z"));
  EXPECT_EQ(of.at("y"), "[-]");
  EXPECT_EQ(of.at("z"), "[-, -]") << "4 ranks do not divide the outer 2";
}

/// One sum behind the flat value, for all that are linear in front of it.
TEST(PropagateShardings, SumsWaitForThePack) {
  const auto of = propagated(
      "mesh {data = 2} state \"flat\" : f32[16] { segment \"a\" : [2,4] at 0 segment \"b\" : [4] at 8 } "
      "graph @g(%x: "
      "f32[6,4] on [data, -], %y: f32[6,2], %s: f32[4]) { %a = matmul %y, %x {spec = \"bi,bj->ij\"} %b = "
      "reduce add %x "
      "{axes = [0]} %scaled = mul %b, %s %flat = pack %a, %scaled {state = \"flat\"} : f32[16] %q = mul "
      "%flat, %flat %n "
      "= reduce add %q {axes = [0]} %half = convert %b : bf16[4] return n = %n, half = %half }");
  EXPECT_EQ(of.at("a"), "[-, -] partial [data]");
  EXPECT_EQ(of.at("b"), "[-]") << "rounding needs the sum, and so all have it";
  EXPECT_EQ(of.at("flat"), "[-]");
  const auto linear = propagated(
      "mesh {data = 2} state \"flat\" : f32[16] { segment \"a\" : [2,4] at 0 segment \"b\" : [4] at 8 } "
      "graph @g(%x: "
      "f32[6,4] on [data, -], %y: f32[6,2], %s: f32[4]) { %a = matmul %y, %x {spec = \"bi,bj->ij\"} %b = "
      "reduce add %x "
      "{axes = [0]} %scaled = mul %b, %s %flat = pack %a, %scaled {state = \"flat\"} : f32[16] return flat = "
      "%flat }");
  EXPECT_EQ(linear.at("b"), "[-] partial [data]");
  EXPECT_EQ(linear.at("scaled"), "[-] partial [data]");
  EXPECT_EQ(linear.at("flat"), "[-]");
}

TEST(PropagateShardings, SaysWhy) {
  std::vector<ShardingEntry> log;
  propagated(graph("%x: f32[B,8] on [data, -], %z: f32[B,8]",
                   "%y = add %x, %z %n = reduce add %y {axes = [0, 1]} %c = constant {value = 1} : f32[3] %m "
                   "= mul %n, "
                   "%n return m = %m, c = %c"),
             &log);
  const std::string text = explain(log);
  for (const char* line : {"@g %x f32[B,8] on [data, -]: as written\n",
                           "@g %y f32[B,8] on [data, -]: from its operands, by add\n",
                           "@g %z f32[B,8] on [data, -]: from its users, by add\n",
                           "@g %c f32[3] on [-]: whole: no neighbour is cut as it could be\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(PropagateShardings, NothingWithoutAMesh) {
  const auto module = parse_module("graph @g(%x: f32[4]) { %y = neg %x return y = %y }");
  EXPECT_FALSE(propagate_shardings(*module->graphs[0], {}));
  EXPECT_FALSE(partition(*module, {}));
}

TEST(Partition, ASecondTimeNothingChanges) {
  const auto module =
      parse_module("mesh {data = 2} graph @g(%x: f32[4] on [data]) { %y = neg %x return y = %y }");
  EXPECT_TRUE(partition(*module, {}));
  EXPECT_FALSE(partition(*module, {}));
  EXPECT_FALSE(propagate_shardings(*module->graphs[0], {}));
}

TEST(Partition, LogsWhatMoves) {
  const auto module =
      parse_module(graph("%x: f32[16] on [model]", "%y = scan %x {axis = 0, kind = \"add\"} return y = %y"));
  std::vector<CollectiveEntry> log;
  partition(*module, {.log = &log});
  EXPECT_EQ(explain(log), "@g all_gather model f32[16] 64 bytes: \"\", for scan\n");
}

TEST(Partition, StatesThatAreWrittenInPart) {
  const auto fault = [](std::string_view on) {
    const auto module =
        parse_module(fmt::format("mesh {{data = 2}} state \"cache\" : f32[4,8,2] on {} graph @g(%kv: "
                                 "f32[4,1,2], %at: i32[]) {{ update %kv, %at "
                                 "{{state = \"cache\", axis = 1}} }}",
                                 on));
    try {
      partition(*module, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return print(*module);
  };
  EXPECT_NE(fault("[-, data, -]").find("is cut along dim 1, of which a part is written"), std::string::npos);
  EXPECT_NE(fault("[-, -, data]").find("slice"), std::string::npos);
  EXPECT_NE(fault("[-, -, -] partial [data]").find("it is partial"), std::string::npos);
}

}  // namespace
}  // namespace smelt
