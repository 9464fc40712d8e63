#include "ir/graph/sharding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "ir/graph/builder.h"
#include "ir/graph/verifier.h"
#include "ir/text/text.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

TEST(Mesh, CountsRanksRowMajor) {
  const Mesh mesh = parse_mesh("data=2,model=3,stage=2");
  EXPECT_EQ(mesh.ranks(), 12);
  EXPECT_EQ(mesh.coordinates(7), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(mesh.group(7, 0), (std::vector<int64_t>{1, 7}));
  EXPECT_EQ(mesh.group(7, 1), (std::vector<int64_t>{7, 9, 11}));
  EXPECT_EQ(mesh.group(7, 2), (std::vector<int64_t>{6, 7}));
  EXPECT_EQ(str(mesh), "data = 2, model = 3, stage = 2");
}

TEST(Mesh, EveryRankIsInOneGroupOfEachAxis) {
  const Mesh mesh = parse_mesh("a=3,b=1,c=4");
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      const std::vector<int64_t> group = mesh.group(rank, axis);
      ASSERT_EQ(group.size(), static_cast<size_t>(mesh.axes[axis].size));
      EXPECT_EQ(group[static_cast<size_t>(mesh.coordinates(rank)[axis])], rank);
      for (const int64_t member : group) EXPECT_EQ(mesh.group(member, axis), group);
    }
}

TEST(Mesh, SaysWhatIsNone) {
  for (const char* text : {"", "data", "data=", "data=0", "data=-1", "data=2,", "=2", "2=2", "da ta=2",
                           "data=2x", "data=2,data=2", "data=65537", "a=256,b=257"})
    EXPECT_THROW(parse_mesh(text), Error) << text;
  EXPECT_EQ(parse_mesh("a=256,b=256").ranks(), 65536);
}

TEST(Sharding, SaysAxesOfDimsAndWhatIsPartial) {
  const Mesh mesh = parse_mesh("data=2,model=2,stage=2");
  EXPECT_EQ(str(Sharding{{{0}, {}, {1, 2}}, {}}, mesh), "[data, -, model + stage]");
  EXPECT_EQ(str(Sharding{{{}}, {0, 1}}, mesh), "[-] partial [data, model]");
  EXPECT_EQ(str(Sharding{}, mesh), "[]");
  EXPECT_TRUE((Sharding{{{}, {}}, {}}.is_replicated()));
  EXPECT_FALSE((Sharding{{{}, {1}}, {}}.is_replicated()));
  EXPECT_FALSE((Sharding{{{}}, {0}}.is_replicated()));
}

// ---- in a module

std::string complaints(std::string_view text) {
  return fmt::format("{}", fmt::join(verify(*parse_module(text)), "\n"));
}

void expect_fault(std::string_view text, std::string_view expected) {
  std::string found;
  try {
    found = complaints(text);
  } catch (const Error& error) {
    found = error.what();
  }
  EXPECT_NE(found.find(expected), std::string::npos) << text << "\n" << found;
}

TEST(Sharding, SurvivesTextAndClone) {
  const auto module = parse_module(R"(mesh {data = 2, model = 4}
symbols B <= 8
partitioned {B = data}
parameter "w" : f32[4,2] on [-, model]
state "m" {whole = [16]} : f32[8] on [data] partial [model]
graph @g(%x: f32[B,4] on [data, -]) { %y = neg %x : f32[B,4] on [data, -] partial [model] return r = %y }
)");
  EXPECT_EQ(complaints(print(*module)), "");
  EXPECT_EQ(print(*parse_module(print(*module))), print(*module));
  EXPECT_EQ(print(*module->clone()), print(*module));
  EXPECT_EQ(module->symbols.upper(Dim::symbol("model.rank")), 3);
  EXPECT_EQ(module->find_state("m")->cut, (std::vector<std::vector<std::string>>{{"data"}}));
  EXPECT_EQ(module->find_parameter("w")->sharding->dims, (std::vector<std::vector<size_t>>{{}, {1}}));
}

TEST(Sharding, FaultsAreNamedTogether) {
  const std::string both = complaints(
      "mesh {data = 2, model = 3} symbols T <= 4 parameter \"w\" : f32[5] on [data] state \"s\" : f32[7] on "
      "[model] graph @g(%x: f32[4,T] on [model, data], %y: f32[3] on [data, -], %z: f32[6] on [data + data], "
      "%v: f32[T] on [data]) { %w = slice %v {axis = 0, begin = 1} : f32[T-1] on [data] }");
  for (const char* fault :
       {"parameter \"w\": dim 0 of [5] is 5, which 2 ranks do not divide", "state \"s\": dim 0 of [7] is 7",
        "dim 0 of [4,T] is 4, which 3 ranks do not divide", "[data, -] of 2 dims for a shape [3]",
        "the axis data stands twice", "dim 0 of [T - 1] is T - 1, which 2 ranks do not divide"})
    EXPECT_NE(both.find(fault), std::string::npos) << fault << "\n" << both;
}

TEST(Sharding, SegmentsAreParts) {
  const auto module = parse_module(R"(mesh {data = 2, model = 4}
state "p" {role = parameter} : f32[16] {
  segment "w" {whole = [8,3]} : [2,3] on [model, -] at 0
  segment "b" : [2] at 6
}
)");
  EXPECT_EQ(complaints(print(*module)), "");
  EXPECT_EQ(print(*parse_module(print(*module))), print(*module));
  EXPECT_EQ(module->states[0].segments[0].whole, (std::vector<int64_t>{8, 3}));
  EXPECT_EQ(module->states[0].segments[0].cut, (std::vector<std::vector<std::string>>{{"model"}, {}}));
  EXPECT_TRUE(module->states[0].segments[1].cut.empty());
}

TEST(Sharding, FaultsOfSegments) {
  const auto expect = [](std::string_view segment, std::string_view fault) {
    const std::string text =
        fmt::format("mesh {{model = 4}} state \"p\" : f32[16] {{ segment \"w\" {} }}", segment);
    EXPECT_NE(complaints(text).find(fault), std::string::npos) << complaints(text);
  };
  expect("{whole = [8,3]} : [4,3] on [model, -] at 0", "dim 0 is 4 of 8 over 4 ranks");
  expect("{whole = [7]} : [1] on [model] at 0", "dim 0 is 1 of 7 over 4 ranks");
  expect(": [4,3] on [model, -] at 0", "cut in 2 dims of a whole of 0: expected 2");
  expect("{whole = [4,3]} : [4,3] at 0", "cut in 0 dims of a whole of 2: expected 2");
  expect("{whole = [8]} : [2] on [data] at 0", "the mesh {model = 4} has no axis data");
  expect("{whole = [8,8]} : [2,2] on [model, model] at 0", "the axis model stands twice");
  expect_fault("mesh {model = 4} state \"p\" : f32[16] { segment \"w\" : [1] on [-] partial [model] at 0 }",
               "a segment is cut, never partial");
}

TEST(Sharding, UnknownAxes) {
  expect_fault("graph @g(%x: f32[4] on [data]) {}", "and no `mesh {data = 2}` above");
  expect_fault("mesh {data = 2} graph @g(%x: f32[4] on [model]) {}", "the mesh {data = 2} has no axis model");
  expect_fault("mesh {data = 2} state \"s\" : f32[4] on [model]",
               "an axis that the mesh {data = 2} does not");
  expect_fault("mesh {data = 2} mesh {data = 2}", "a second mesh");
  expect_fault("partitioned {}", "expected a mesh above");
}

std::string collective(std::string_view attributes, std::string_view operand = "f32[8,B]") {
  return fmt::format(
      "mesh {{data = 2, model = 4}} symbols B <= 4 graph @g(%x: {}) {{ %y = collective %x {{{}}} "
      "return r = %y }}",
      operand, attributes);
}

TEST(Collective, Types) {
  const auto type = [](std::string_view attributes, std::string_view operand = "f32[8,B]") {
    return str(parse_module(collective(attributes, operand))->graphs[0]->outputs[0].value->type);
  };
  EXPECT_EQ(type("kind = \"all_reduce\", axis = \"data\", sum = \"max\""), "f32[8,B]");
  EXPECT_EQ(type("kind = \"reduce_scatter\", axis = \"model\", dim = 0"), "f32[2,B]");
  EXPECT_EQ(type("kind = \"reduce_scatter\", axis = \"model\", dim = 1", "f32[8,4*B]"), "f32[8,B]");
  EXPECT_EQ(type("kind = \"all_gather\", axis = \"model\", dim = 1"), "f32[8,4*B]");
  EXPECT_EQ(type("kind = \"all_to_all\", axis = \"model\", dim = 1, to = 0"), "f32[2,4*B]");
}

TEST(Collective, SaysWhatIsWrong) {
  expect_fault(collective("kind = \"sum\", axis = \"data\""), "'kind' is \"sum\"");
  expect_fault(collective("kind = \"all_reduce\""), "'axis' must be given");
  expect_fault(collective("kind = \"all_reduce\", axis = \"stage\""), "has no axis \"stage\"");
  expect_fault(collective("kind = \"all_gather\", axis = \"data\""), "'dim' must be given");
  expect_fault(collective("kind = \"all_gather\", axis = \"data\", dim = 2"), "dim is 2");
  expect_fault(collective("kind = \"all_gather\", axis = \"data\", dim = 1, sum = \"add\""),
               "leave 'sum' out");
  expect_fault(collective("kind = \"all_reduce\", axis = \"data\", sum = \"min\""), "'sum' is \"min\"");
  expect_fault(collective("kind = \"reduce_scatter\", axis = \"data\", dim = 1"), "do not divide B");
  expect_fault(collective("kind = \"reduce_scatter\", axis = \"model\", dim = 0", "f32[6,B]"),
               "the 4 ranks along \"model\" do not divide 6");
  expect_fault(collective("kind = \"all_to_all\", axis = \"model\", dim = 0, to = 0"), "to itself");
}

/// A part at the place of a rank is inside at every rank, or the verifier says so.
TEST(Coordinates, SlicesAreProvenInside) {
  const auto slice = [](std::string_view whole, std::string_view begin, std::string_view length) {
    return complaints(
        fmt::format("mesh {{data = 2, model = 4}} symbols B <= 8 graph @g(%x: f32[{}]) {{ %y = slice "
                    "%x {{axis = 0, begin = {}}} : f32[{}] return r = %y }}",
                    whole, begin, length));
  };
  EXPECT_EQ(slice("256", "data.rank*128", "128"), "");
  EXPECT_EQ(slice("8*B", "data.rank*4*B + model.rank*B", "B"), "");
  EXPECT_EQ(slice("2*B", "(1 - data.rank)*B", "B"), "");
  for (const std::string& outside :
       {slice("255", "data.rank*128", "128"), slice("8*B", "data.rank*5*B + model.rank*B", "B"),
        slice("2*B", "B - 2*data.rank*B", "B"), slice("4*B", "model.rank*model.rank*B", "B")})
    EXPECT_NE(outside.find("may be outside dim 0"), std::string::npos) << outside;
}

TEST(Coordinates, BeginAtZero) {
  Symbols symbols;
  symbols.bound({"data.rank"}, 3, 0);
  symbols.bound({"T"}, 40);
  EXPECT_EQ(symbols.upper(Dim::parse("T") - Dim::symbol("data.rank") * 4), 40);
  EXPECT_EQ(symbols.upper(Dim::symbol("data.rank") * 4), 12);
  symbols.check({{"data.rank", 0}, {"T", 1}});
  EXPECT_THROW(symbols.check({{"data.rank", 4}, {"T", 1}}), Error);
  EXPECT_THROW(symbols.check({{"data.rank", 0}, {"T", 0}}), Error);
  EXPECT_THROW(symbols.bound({"data.rank"}, -1, 0), Error);
}

TEST(Dim, SubstitutesSymbols) {
  const Dim size = Dim::parse("3*B*T + ceil_div(B, 4) + 1");
  EXPECT_EQ(substitute(size, {{"B", Dim::symbol("B") * 8}}), Dim::parse("24*B*T + 2*B + 1"));
  EXPECT_EQ(substitute(size, {}), size);
}

}  // namespace
}  // namespace smelt
