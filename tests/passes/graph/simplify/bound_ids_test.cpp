#include "passes/graph/simplify/bound_ids.h"

#include "runtime/base/error.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

/// What the pass finds for the input called `name` of a graph with these inputs and this body.
std::optional<IdRange> found(const std::string& inputs, const std::string& body,
                             const std::string& name = "ids") {
  const auto module = parse_module(
      "symbols B <= 4, V <= 9\nparameter \"t\" : f32[7,3]\nparameter \"u\" : f32[5,3]\ngraph @main(" +
      inputs + ") {\n  %t = parameter \"t\"\n  %u = parameter \"u\"\n" + body + "}\n");
  Graph& graph = *module->graphs.front();
  const bool changed = bound_ids(graph, {});
  testing::expect_valid(graph);
  const std::string text = print(*module);
  EXPECT_EQ(print(*parse_module(text)), text);
  EXPECT_FALSE(bound_ids(graph, {})) << "a second run finds nothing new";
  const auto range = id_range(*graph.find_input(name));
  EXPECT_TRUE(changed || !range || inputs.find("below") != std::string::npos);
  return range;
}

using R = IdRange;

TEST(BoundIds, RowsOfATable) {
  EXPECT_EQ(found("%ids: i32[B]", "%y = gather %t, %ids {axis = 0}\n return y = %y\n"), R{7});
  EXPECT_EQ(found("%ids: i32[B]", "%y = gather %t, %ids {axis = 1}\n return y = %y\n"), R{3});
  EXPECT_EQ(found("%ids: i32[B,2]", "%y = embedding %u, %ids\n return y = %y\n"), R{5});
  EXPECT_EQ(found("%ids: i64[B,2]", "%y = embedding %u, %ids\n return y = %y\n"), R{5});
}

TEST(BoundIds, TargetsOfALoss) {
  const std::string inputs = "%x: f32[B,11], %ids: i32[B]";
  EXPECT_EQ(found(inputs, "%y = cross_entropy %x, %ids\n return y = %y\n"), R{11});
  EXPECT_EQ(found(inputs, "%y = cross_entropy %x, %ids {ignore_index = -100}\n return y = %y\n"),
            (R{11, -100}));
  EXPECT_EQ(found("%x: f32[B,V], %ids: i32[B]", "%y = cross_entropy %x, %ids\n return y = %y\n"),
            std::nullopt)
      << "classes known at launch only";
}

/// Other ids than those of the table give its rows, too.
TEST(BoundIds, NotThroughWhatWrapsAround) {
  EXPECT_EQ(found("%ids: i32[B]", R"(
  %a = convert %ids : u8[B]
  %b = convert %a : i32[B]
  %y = gather %t, %b {axis = 0}
  return y = %y
)"),
            std::nullopt);
  EXPECT_EQ(found("%ids: u8[B]", R"(
  %a = constant {value = 3} : u8[B]
  %b = add %ids, %a : u8[B]
  %c = convert %b : i32[B]
  %y = gather %t, %c {axis = 0}
  return y = %y
)"),
            std::nullopt);
}

TEST(BoundIds, UsesWithoutAResult) {
  const auto module = parse_module(R"(state "s" : i32[4]
graph @main(%ids: i32[4]) {
  update %ids {state = "s"}
  return y = %ids
})");
  EXPECT_FALSE(bound_ids(*module->graphs.front(), {}));
}

TEST(BoundIds, ThroughViewsConversionsAndConcat) {
  EXPECT_EQ(found("%ids: i64[B,2]", R"(
  %a = transpose %ids {permutation = [1, 0]}
  %b = convert %a : i32[2,B]
  %c = constant {value = 3} : i32[2,1]
  %d = concat %b, %c {axis = 1}
  %e = slice %d {axis = 1, begin = 1} : i32[2,B]
  %f = reshape %e : i32[2*B]
  %y = gather %t, %f {axis = 0}
  return y = %y
)"),
            R{7});
}

TEST(BoundIds, TheNarrowestOfSeveralUses) {
  EXPECT_EQ(found("%ids: i32[B]", R"(
  %y = gather %t, %ids {axis = 0}
  %z = gather %u, %ids {axis = 0}
  return y = %y, z = %z
)"),
            R{5});
  EXPECT_EQ(found("%x: f32[B,11], %ids: i32[B]", R"(
  %y = cross_entropy %x, %ids {ignore_index = -1}
  %z = gather %t, %ids {axis = 0}
  return y = %y, z = %z
)"),
            R{7})
      << "what one use ignores the other does not";
  EXPECT_EQ(
      found("%ids: i32[B] {below = 4, ignored = -3}", "%y = gather %t, %ids {axis = 0}\n return y = %y\n"),
      R{4});
  EXPECT_EQ(found("%ids: i32[B] {below = 4, ignored = -3}", "return y = %ids\n"), (R{4, -3}));
}

TEST(BoundIds, ASelectKeepsOneNumberOut) {
  const std::string ends = "\n  %y = gather %t, %s {axis = 0}\n  return y = %y\n";
  const std::string constants =
      "  %k = constant {value = -1} : i32[B]\n  %o = constant {value = 0} : i32[B]\n";
  EXPECT_EQ(found("%ids: i32[B]", constants + "  %c = ne %ids, %k\n  %s = select %c, %ids, %o" + ends),
            (R{7, -1}));
  EXPECT_EQ(found("%ids: i32[B]", constants + "  %c = eq %k, %ids\n  %s = select %c, %o, %ids" + ends),
            (R{7, -1}));
  EXPECT_EQ(found("%ids: i32[B]", constants + "  %c = eq %ids, %k\n  %s = select %c, %ids, %o" + ends),
            std::nullopt);
  EXPECT_EQ(found("%ids: i32[B]", constants + "  %c = ge %ids, %o\n  %s = select %c, %ids, %o" + ends),
            std::nullopt);
}

TEST(BoundIds, AnAddedConstantMovesTheRange) {
  const std::string look_up = "  %s = add %ids, %k\n  %y = gather %t, %s {axis = 0}\n  return y = %y\n";
  EXPECT_EQ(found("%ids: i32[B]", "  %k = constant {value = 2} : i32[B]\n" + look_up), (R{5, {}, -2}))
      << "-2 is row 0";
  EXPECT_EQ(found("%ids: i32[B]", "  %k = constant {value = 7} : i32[B]\n" + look_up), std::nullopt);
}

TEST(BoundIds, NumbersThatAreComputedWithAreNotBounded) {
  EXPECT_EQ(found("%ids: i32[B]", R"(
  %s = add %ids, %ids
  %y = gather %t, %s {axis = 0}
  return y = %y
)"),
            std::nullopt);
  EXPECT_EQ(found("%ids: i32[7,3]", R"(
  %x = convert %ids : f32[7,3]
  %i = iota {axis = 0} : i32[2]
  %y = gather %x, %i {axis = 0}
  return y = %y
)"),
            std::nullopt)
      << "a table is no index";
}

TEST(BoundIds, PartsOfAnInputAllowTheWidestRange) {
  const std::string parts = R"(
  %a = slice %ids {axis = 0, begin = 0} : i32[1,B]
  %b = slice %ids {axis = 0, begin = 1} : i32[1,B]
  %y = gather %t, %a {axis = 0}
)";
  EXPECT_EQ(found("%ids: i32[2,B]", parts + "  %z = gather %u, %b {axis = 0}\n  return y = %y, z = %z\n"),
            R{7});
  EXPECT_EQ(found("%ids: i32[2,B]", parts + "  return y = %y, z = %b\n"), std::nullopt)
      << "one part may be anything";
  EXPECT_EQ(found("%ids: i32[2,B]", parts + "  %z = neg %ids\n  return y = %y, z = %z\n"), std::nullopt);
  EXPECT_EQ(found("%ids: i32[1,B]", R"(
  %a = slice %ids {axis = 0, begin = 0} : i32[1,B]
  %y = gather %t, %a {axis = 0}
  return y = %y, z = %ids
)"),
            std::nullopt);
}

/// A select that lets negative numbers count from the end of as many rows.
std::string from_the_end(const std::string& rows) {
  return "  %o = constant {value = 0} : i32[B]\n  %n = constant {value = " + rows + "} : i32[B]\n" + R"(
  %c = lt %ids, %o
  %s = add %ids, %n
  %i = select %c, %s, %ids
  %y = gather %t, %i {axis = 0}
  return y = %y
)";
}

TEST(BoundIds, NegativeNumbersCountFromTheEnd) {
  EXPECT_EQ(found("%ids: i32[B]", from_the_end("7")), (R{.below = 7, .ignored = {}, .least = -7}));
  EXPECT_EQ(found("%ids: i32[B]", from_the_end("6")), std::nullopt) << "not the rows of the table";
}

TEST(BoundIds, TargetsThatAreComputedAreLookedUp) {
  const auto text = [](const std::string& input, const std::string& body) {
    const auto module =
        parse_module("graph @main(%x: f32[4,7], %ids: i32[4]" + input + ") {\n" + body +
                     "  %l = cross_entropy %x, %t {ignore_index = -100}\n  return y = %l\n}\n");
    bound_ids(*module->graphs.front(), {});
    testing::expect_valid(*module->graphs.front());
    return print(*module);
  };
  const std::string one = "  %o = constant {value = 1} : i32[4]\n  %t = add %ids, %o\n";
  EXPECT_NE(text("", one).find("gather"), std::string::npos);
  const std::string shifted =
      "  %a = slice %ids {axis = 0, begin = 1} : i32[3]\n  %b = constant {value = -100} : i32[1]\n"
      "  %t = concat %a, %b {axis = 0}\n";
  EXPECT_EQ(text("", shifted).find("gather"), std::string::npos) << "the input is bounded";
}

TEST(BoundIds, TheVerifierKnowsTheAttributes) {
  const auto fault = [](const std::string& input) -> std::string {
    try {
      const auto messages = verify(*parse_module("graph @main(" + input + ") {\n  return y = %x\n}\n"));
      return messages.empty() ? std::string() : messages.front();
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(fault("%x: i32[2] {below = 3, ignored = -1}"), "");
  EXPECT_NE(fault("%x: i32[2] {below = 0}").find("expected at least 1"), std::string::npos);
  EXPECT_NE(fault("%x: f32[2] {below = 3}").find("expected integers"), std::string::npos);
  EXPECT_NE(fault("%x: i32[2] {ignored = 3}").find("without 'below'"), std::string::npos);
  EXPECT_NE(fault("%x: i32[2] {least = -3}").find("without 'below'"), std::string::npos);
  EXPECT_NE(fault("%x: i32[2] {below = 3, least = 1}").find("expected at most 0"), std::string::npos);
  EXPECT_EQ(fault("%x: i32[2] {below = 3, least = -1}"), "");
  EXPECT_NE(fault("%x: i32[2] {below = 1.5}").find("below"), std::string::npos);
}

}  // namespace
}  // namespace smelt
