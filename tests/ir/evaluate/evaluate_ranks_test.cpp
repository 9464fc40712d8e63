#include "ir/evaluate/evaluate_ranks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/graph/verifier.h"
#include "ir/text/text.h"
#include "runtime/base/error.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

using Data = std::vector<double>;

Tensor numbers(std::vector<int64_t> shape) {
  Tensor tensor{DType::f32, std::move(shape), {}};
  int64_t count = 1;
  for (const int64_t size : tensor.shape) count *= size;
  for (int64_t i = 0; i < count; ++i) tensor.data.push_back(static_cast<double>(i + 1));
  return tensor;
}

Evaluation over_ranks(std::string_view text, const Tensors& inputs, const Tensors& states = {},
                      const EvaluateOptions& options = {}) {
  const auto module = parse_module(text);
  verify_or_throw(*module);
  return evaluate_ranks(*module->graphs.at(0), inputs, states, options);
}

Data result(std::string_view text, const Tensors& inputs, const EvaluateOptions& options = {}) {
  return over_ranks(text, inputs, {}, options).outputs.at("r").data;
}

std::string fault(std::string_view text, const Tensors& inputs, const EvaluateOptions& options = {}) {
  try {
    over_ranks(text, inputs, {}, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(EvaluateRanks, CutsAndJoins) {
  const Mesh mesh = parse_mesh("a=2,b=2,c=2");
  const Tensor whole = numbers({4, 6, 2});
  for (const Sharding& sharding : {Sharding{{{0}, {}, {}}, {}}, Sharding{{{1, 0}, {}, {2}}, {}},
                                   Sharding{{{}, {2}, {}}, {0}}, Sharding{{{}, {}, {}}, {0, 1, 2}}}) {
    std::vector<Tensor> parts;
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) parts.push_back(part_of(whole, sharding, mesh, rank));
    EXPECT_EQ(joined(parts, sharding, mesh, "x").data, whole.data) << str(sharding, mesh);
  }
  // Rank 3 is at a=0, b=1, c=1; along dim 0 b cuts outermost.
  EXPECT_EQ(part_of(whole, {{{1, 0}, {}, {2}}, {}}, mesh, 3).data, (Data{26, 28, 30, 32, 34, 36}));
}

constexpr const char* kHead = "mesh {data = 2, model = 3} partitioned {} ";

TEST(EvaluateRanks, Collectives) {
  const Tensors x{{"x", numbers({6, 2})}};
  const auto run = [&](std::string_view on, std::string_view local, std::string_view attributes,
                       std::string_view typed) {
    return result(
        fmt::format("{}graph @g(%x: f32{} on {}) {{ %y = collective %x {{{}}} : f32{} return r = %y }}",
                    kHead, local, on, attributes, typed),
        x);
  };
  EXPECT_EQ(run("[model, -]", "[2,2]", "kind = \"all_gather\", axis = \"model\", dim = 0", "[6,2]"),
            numbers({6, 2}).data);
  EXPECT_EQ(run("[model, -]", "[2,2]", "kind = \"all_reduce\", axis = \"model\"", "[2,2]"),
            (Data{1 + 5 + 9, 2 + 6 + 10, 3 + 7 + 11, 4 + 8 + 12}));
  EXPECT_EQ(run("[model, -]", "[2,2]", "kind = \"all_reduce\", axis = \"model\", sum = \"max\"", "[2,2]"),
            (Data{9, 10, 11, 12}));
  EXPECT_EQ(run("[model, data]", "[2,1]", "kind = \"all_reduce\", axis = \"data\"", "[2,1] on [model, -]"),
            (Data{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(
      run("[-, -]", "[6,2]", "kind = \"reduce_scatter\", axis = \"data\", dim = 1", "[6,1] on [-, data]"),
      (Data{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}));
  EXPECT_EQ(run("[data, -]", "[3,2]", "kind = \"all_to_all\", axis = \"data\", dim = 0, to = 1",
                "[6,1] on [-, data]"),
            numbers({6, 2}).data);
}

TEST(EvaluateRanks, CoordinatesAndSymbols) {
  const std::string text =
      "mesh {data = 2} symbols B <= 8 partitioned {B = data} graph @g(%x: f32[B,2] on [data, -]) { %all = "
      "collective %x {kind = \"all_gather\", axis = \"data\", dim = 0} %mine = slice %all {axis = 0, begin = "
      "data.rank*B} : f32[B,2] on [data, -] return r = %mine }";
  EvaluateOptions options;
  options.symbols["B"] = 6;
  EXPECT_EQ(result(text, {{"x", numbers({6, 2})}}, options), numbers({6, 2}).data);
  options.symbols["B"] = 5;
  EXPECT_NE(fault(text, {{"x", numbers({5, 2})}}, options).find("B = 5: 2 ranks do not divide it"),
            std::string::npos);
}

TEST(EvaluateRanks, ReplicasThatDifferAreNamed) {
  const std::string text =
      "mesh {data = 2, model = 2} partitioned {} graph @g(%x: f32[2] on [model]) { %y = neg %x return r = %y "
      "}";
  EXPECT_NE(fault(text, {{"x", numbers({4})}}).find("output r: ranks 0 and 1 should hold the same"),
            std::string::npos);
  EXPECT_NE(
      fault("graph @g(%x: f32[2]) { return r = %x }", {{"x", numbers({2})}}).find("was not partitioned"),
      std::string::npos);
}

TEST(EvaluateRanks, States) {
  const Evaluation all = over_ranks(
      "mesh {data = 2} partitioned {} parameter \"w\" : f32[2] on [data] state \"m\" {whole = [4]} : f32[2] "
      "on "
      "[data] state \"sum\" : f32[2] on [-] partial [data] graph @g() { %w = parameter \"w\" : f32[2] on "
      "[data] "
      "%m = state \"m\" %new = add %w, %m update %new {state = \"m\"} update %w {state = \"sum\"} }",
      {}, {{"w", numbers({4})}, {"m", numbers({4})}});
  EXPECT_EQ(all.states.at("m").data, (Data{2, 4, 6, 8}));
  EXPECT_EQ(all.states.at("sum").data, (Data{4, 6}));
}

/// Rank r of N at micro-step m draws what one rank does at micro-step m N + r; a part of a larger draw what
/// lies there.
TEST(EvaluateRanks, RandomNumbersByPlace) {
  EvaluateOptions options;
  options.philox = {7, 3, 2U << 16};
  const Data parts = result(
      "mesh {data = 4} partitioned {} graph @g() { %r = random {id = 5, parts = 4, part = data.rank} : "
      "i32[3,5] "
      "%y = convert %r : f32[3,5] on [data, -] return r = %y }",
      {}, options);
  Data expected;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const Philox philox{7, 3, (2 * 4 + rank) << 16};
    for (uint32_t i = 0; i < 15; ++i) expected.push_back(philox.bits(5, i / 5, i % 5));
  }
  EXPECT_EQ(parts, expected);
  const auto placed = [&](std::string_view local, std::string_view axis, std::string_view on) {
    return result(
        fmt::format("mesh {{data = 2}} partitioned {{}} graph @g() {{ %r = random {{id = 5, {}}} : i32{} %y "
                    "= convert %r : f32{} on {} return r = %y }}",
                    axis, local, local, on),
        {}, options);
  };
  const Data whole = placed("[4,6,10]", "parts = 1, part = 0", "[-, -, -]");
  EXPECT_EQ(placed("[4,3,10]", "begin.1 = data.rank*3, extent.1 = 6", "[-, data, -]"), whole);
  EXPECT_EQ(placed("[4,6,5]", "begin.2 = data.rank*5, extent.2 = 10", "[-, -, data]"), whole);
  EXPECT_THROW(placed("[4,6,5]", "begin.2 = data.rank*5", "[-, -, data]"), Error);
  EXPECT_THROW(placed("[4,6,5]", "begin.2 = data.rank*6, extent.2 = 10", "[-, -, data]"), Error);
}

}  // namespace
}  // namespace smelt
