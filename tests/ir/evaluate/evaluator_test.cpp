#include "ir/evaluate/evaluator.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"
#include "ir/graph/verifier.h"
#include "ir/ops/matmul_spec.h"
#include "ir/text/text.h"
#include "runtime/base/error.h"
#include "tests/ir/evaluate/support.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

using testing::Numbers, testing::output, testing::run, testing::scalar, testing::vector;
using testing::random_inputs;
using testing::random_states;
using testing::relative_error;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Evaluator, Pointwise) {
  EXPECT_EQ(output("graph @g(%x: f32[3], %y: f32[3]) { %0 = sub %x, %y return r = %0 }",
                   {{"x", vector({1, 2, 3})}, {"y", vector({10, 20, 30})}}),
            (Numbers{-9, -18, -27}));
  EXPECT_EQ(output("graph @g(%x: f32[3]) { %0 = constant {value = 0} : f32[3] %1 = lt %x, %0 %2 = neg %x "
                   "%3 = select %1, %2, %x return r = %3 }",
                   {{"x", vector({-1, 0, 2})}}),
            (Numbers{1, 0, 2}));
}

/// Integers divide towards zero.
TEST(Evaluator, IntegerDivision) {
  EXPECT_EQ(output("graph @g(%x: i32[4], %y: i32[4]) { %0 = div %x, %y return r = %0 }",
                   {{"x", vector({7, -7, 8, 1}, DType::i32)}, {"y", vector({2, 2, -3, 5}, DType::i32)}}),
            (Numbers{3, -3, -2, 0}));
}

TEST(Evaluator, Leaves) {
  EXPECT_EQ(output("graph @g() { %0 = constant {values = [1, 2, 4]} : f32[3] return r = %0 }", {}),
            (Numbers{1, 2, 4}));
  EXPECT_EQ(output("graph @g() { %0 = constant {value = 2.5} : f32[2,1] return r = %0 }", {}),
            (Numbers{2.5, 2.5}));
  EXPECT_EQ(output("graph @g() { %0 = iota {axis = 0} : i32[2,3] return r = %0 }", {}),
            (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(output("graph @g() { %0 = iota {axis = 1} : i32[2,3] return r = %0 }", {}),
            (Numbers{0, 1, 2, 0, 1, 2}));
}

TEST(Evaluator, Shapes) {
  const Tensors x{{"x", {DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}}}};
  const auto of = [&](std::string_view body) {
    return output(fmt::format("graph @g(%x: f32[2,3]) {{ %0 = {} return r = %0 }}", body), x);
  };
  EXPECT_EQ(of("transpose %x {permutation = [1, 0]}"), (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(of("reshape %x : f32[3,2]"), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(of("slice %x {axis = 1, begin = 1} : f32[2,2]"), (Numbers{2, 3, 5, 6}));
  EXPECT_EQ(of("slice %x {axis = 0, begin = 1} : f32[1,3]"), (Numbers{4, 5, 6}));
  EXPECT_EQ(of("concat %x, %x {axis = 1}"), (Numbers{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(of("concat %x, %x {axis = 0}"), (Numbers{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(of("broadcast %x {axes = [0, 2]} : f32[2,2,3]"), (Numbers{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(of("broadcast %x {axes = [1, 2]} : f32[2,2,3]"), (Numbers{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(of("stop_gradient %x"), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(output("mesh {data = 1} graph @g(%x: f32[2,3]) { %0 = collective %x {kind = \"all_reduce\", axis "
                   "= \"data\"} return r = %0 }",
                   x),
            (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(output("mesh {data = 2} graph @g(%x: f32[2,3]) { %0 = collective %x {kind = \"all_reduce\", "
                      "axis = \"data\"} return r = %0 }",
                      x),
               Error);
}

TEST(Evaluator, SymbolicSizes) {
  constexpr std::string_view text =
      "symbols B <= 4, T <= 40\n"
      "graph @g(%x: f32[B,T]) { %0 = slice %x {axis = 1, begin = T - 1} : f32[B,1] return r = %0 }";
  for (int64_t t : {1, 3, 31, 33}) {
    Tensor x{DType::f32, {2, t}, {}};
    for (int64_t i = 0; i < 2 * t; ++i) x.data.push_back(static_cast<double>(i));
    const Numbers last{static_cast<double>(t - 1), static_cast<double>(2 * t - 1)};
    EXPECT_EQ(output(text, {{"x", x}}, {{{"B", 2}, {"T", t}}, {}, false, false}), last);
  }
}

// ---- reductions

TEST(Evaluator, Reductions) {
  const Tensors x{{"x", {DType::f32, {2, 3}, {5, 1, 5, -2, -8, -1}}}};
  const auto of = [&](std::string_view reduction, std::string_view result = "%0") {
    return output(fmt::format("graph @g(%x: f32[2,3]) {{ {} return r = {} }}", reduction, result), x);
  };
  EXPECT_EQ(of("%0 = reduce add %x {axes = [1]}"), (Numbers{11, -11}));
  EXPECT_EQ(of("%0 = reduce add %x {axes = [0]}"), (Numbers{3, -7, 4}));
  EXPECT_EQ(of("%0 = reduce add %x {axes = [0, 1]}"), (Numbers{0}));
  EXPECT_EQ(of("%0 = reduce add %x {axes = []}"), (Numbers{5, 1, 5, -2, -8, -1}));
  EXPECT_EQ(of("%0 = reduce max %x {axes = [1]}"), (Numbers{5, -1}));
  EXPECT_EQ(of("%0 = reduce min %x {axes = [1]}"), (Numbers{1, -8}));
  EXPECT_EQ(of("%0 = reduce first %x {axes = [1]}"), (Numbers{5, -2}));
  EXPECT_EQ(of("%0 = reduce first %x {axes = [0]}"), (Numbers{5, 1, 5}));
  EXPECT_EQ(of("%0, %1 = reduce argmax %x {axes = [1]}", "%1"), (Numbers{0, 2}));
  EXPECT_EQ(of("%0, %1 = reduce argmax %x {axes = [0, 1]}", "%1"), (Numbers{0}));
  EXPECT_EQ(of("%0, %1 = reduce max_sumexp %x {axes = [1]}"), (Numbers{5, -1}));
  const Numbers sums = of("%0, %1 = reduce max_sumexp %x {axes = [1]}", "%1");
  EXPECT_NEAR(sums[0], 2 + std::exp(-4), 1e-15);
  EXPECT_NEAR(sums[1], 1 + std::exp(-1) + std::exp(-7), 1e-15);
}

Numbers reduced(std::string_view op, Numbers x, int result) {
  const bool two = op == "argmax" || op == "max_sumexp";
  return output(fmt::format("graph @g(%x: f32[{}]) {{ %0{} = reduce {} %x {{axes = [0]}} return r = %{} }}",
                            x.size(), two ? ", %1" : "", op, result),
                {{"x", vector(x)}});
}

TEST(Evaluator, ReductionsOfInfinities) {
  EXPECT_EQ(reduced("max_sumexp", {-kInfinity, -kInfinity}, 0), (Numbers{-kInfinity}));
  EXPECT_EQ(reduced("max_sumexp", {-kInfinity, -kInfinity}, 1), (Numbers{0}));
  EXPECT_EQ(reduced("max_sumexp", {-kInfinity, 3, -kInfinity, 3}, 1), (Numbers{2}));
  EXPECT_EQ(reduced("argmax", {-kInfinity, -kInfinity}, 1), (Numbers{0}));
  EXPECT_EQ(reduced("max", {-kInfinity}, 0), (Numbers{-kInfinity}));
}

TEST(Evaluator, NanWinsReductions) {
  EXPECT_TRUE(std::isnan(reduced("max", {1, kNan, 2}, 0)[0]));
  EXPECT_TRUE(std::isnan(reduced("min", {kNan, 1}, 0)[0]));
  EXPECT_TRUE(std::isnan(reduced("max_sumexp", {1, kNan}, 1)[0]));
  EXPECT_TRUE(std::isnan(reduced("argmax", {1, kNan, 5}, 0)[0]));
  EXPECT_EQ(reduced("argmax", {1, kNan, 5, kNan}, 1), (Numbers{1}));
}

// ---- matmul and indexing

/// Any letters, against one loop over all of them.
TEST(Evaluator, MatmulEqualsSimpleLoops) {
  const std::map<char, int64_t> sizes{{'a', 2}, {'b', 3}, {'c', 5}, {'d', 4}, {'e', 1}, {'f', 7}};
  for (std::string_view spec :
       {"bc,dc->bd", "bc,cd->db", "abc,dc->abd", "abc,abd->acd", "abc,bad->cad", "a,b->ab", "ab,ab->",
        "ab,ab->ab", "abcd,fbcd->af", "ec,ec->e", "abc,abc->b", "fab,b->fa"}) {
    const MatmulSpec s = parse_matmul_spec(spec);
    std::mt19937_64 random(1);
    const auto tensor = [&](const std::string& letters) {
      Type type;
      for (char c : letters) type.shape.push_back(sizes.at(c));
      return std::pair(type, testing::random_tensor(type, {}, random));
    };
    const auto [a_type, a] = tensor(s.a);
    const auto [b_type, b] = tensor(s.b);
    Tensor expected = tensor(s.out).second;
    std::fill(expected.data.begin(), expected.data.end(), 0);
    std::map<char, int64_t> at;
    const auto place = [&](const std::string& letters) {
      int64_t offset = 0;
      for (char c : letters) offset = offset * sizes.at(c) + at[c];
      return static_cast<size_t>(offset);
    };
    std::string all;
    for (char c : s.a + s.b)
      if (all.find(c) == std::string::npos) all += c;
    const std::function<void(size_t)> loop = [&](size_t i) {
      if (i == all.size())
        expected.data[place(s.out)] += a.data[place(s.a)] * b.data[place(s.b)];
      else
        for (at[all[i]] = 0; at[all[i]] < sizes.at(all[i]); ++at[all[i]]) loop(i + 1);
    };
    loop(0);
    const Evaluation result =
        run(fmt::format("graph @g(%a: {}, %b: {}) {{ %0 = matmul %a, %b {{spec = \"{}\"}} return r = %0 }}",
                        str(a_type), str(b_type), spec),
            {{"a", a}, {"b", b}});
    EXPECT_LT(relative_error(result.outputs.at("r"), expected), 1e-14) << spec;
  }
}

TEST(Evaluator, GatherAndScatterAdd) {
  const Tensors inputs{{"t", {DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}}},
                       {"i", {DType::i32, {2, 2}, {2, 0, 2, 1}}},
                       {"u", {DType::f32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}}};
  EXPECT_EQ(
      output("graph @g(%t: f32[3,2], %i: i32[2,2]) { %0 = gather %t, %i {axis = 0} return r = %0 }", inputs),
      (Numbers{5, 6, 1, 2, 5, 6, 3, 4}));
  EXPECT_EQ(output("graph @g(%t: f32[3,2], %i: i32[2,2], %u: f32[2,2,2]) {"
                   " %0 = scatter_add %t, %i, %u {axis = 0} return r = %0 }",
                   inputs),
            (Numbers{1 + 3, 2 + 4, 3 + 7, 4 + 8, 5 + 1 + 5, 6 + 2 + 6}));
  EXPECT_EQ(output("graph @g(%t: f32[2,3], %i: i32[1]) { %0 = gather %t, %i {axis = 1} return r = %0 }",
                   {{"t", {DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}}}, {"i", vector({2}, DType::i32)}}),
            (Numbers{3, 6}));
}

TEST(Evaluator, TheLastUpdateOfARowStays) {
  const Tensors inputs{{"t", {DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}}},
                       {"i", {DType::i32, {4}, {2, 0, 2, 0}}},
                       {"u", {DType::f32, {4, 2}, {10, 11, 20, 21, 30, 31, 40, 41}}}};
  EXPECT_EQ(output("graph @g(%t: f32[3,2], %i: i32[4], %u: f32[4,2]) {"
                   " %0 = scatter %t, %i, %u {axis = 0} return r = %0 }",
                   inputs),
            (Numbers{40, 41, 3, 4, 30, 31}));
  EXPECT_EQ(output("graph @g(%t: f32[2], %i: i32[3], %u: f32[3]) {"
                   " %0 = scatter %t, %i, %u {axis = 0} return r = %0 }",
                   {{"t", vector({1, 2})}, {"i", vector({-1, 1, 2}, DType::i32)}, {"u", vector({5, 6, 7})}}),
            (Numbers{1, 6}));
}

TEST(Evaluator, Windows) {
  const Tensors inputs{{"x", {DType::f32, {5, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41}}}};
  const auto windows = [&](const std::string& attributes) {
    return output("graph @g(%x: f32[5,2]) { %0 = windows %x {" + attributes + "} return r = %0 }", inputs);
  };
  EXPECT_EQ(windows("axis = 0, size = 3, step = 2"), (Numbers{0, 1, 10, 11, 20, 21, 20, 21, 30, 31, 40, 41}));
  EXPECT_EQ(windows("axis = 0, size = 2, dilation = 3"), (Numbers{0, 1, 30, 31, 10, 11, 40, 41}));
  EXPECT_EQ(windows("axis = 1, size = 1"), (Numbers{0, 1, 10, 11, 20, 21, 30, 31, 40, 41}));
}

TEST(Evaluator, IndicesOutsideATable) {
  const Tensors inputs{
      {"t", vector({1, 2})}, {"i", vector({0, -1, 2}, DType::i32)}, {"u", vector({5, 6, 7})}};
  try {
    output("graph @g(%t: f32[2], %i: i32[3]) { %0 = gather %t, %i \"wte\" {axis = 0} return r = %0 }",
           inputs);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "gather \"wte\": index -1 is outside [0, 2)");
  }
  EXPECT_EQ(output("graph @g(%t: f32[2], %i: i32[3], %u: f32[3]) { %0 = scatter_add %t, %i, %u {axis = 0} "
                   "return r = %0 }",
                   inputs),
            (Numbers{6, 2}));
}

// ---- states

constexpr std::string_view kFlat = R"(
state "parameters" {role = parameter} : f32[16] {
  segment "w" : [2,3] at 0
  segment "b" : [3] at 8
}
parameter "w" : f32[2,3]
parameter "b" : f32[3]
graph @g() {
  %w = parameter "w"
  %b = parameter "b"
  %all = state "parameters"
  %packed = pack %w, %b {state = "parameters"} : f32[16]
  %two = constant {value = 2.0} : f32[16]
  %next = mul %packed, %two
  update %next {state = "parameters"}
  return w = %w, b = %b, all = %all
})";

TEST(Evaluator, ParametersByNameAndFromTheFlatState) {
  Numbers flat;
  for (int i = 0; i < 16; ++i) flat.push_back(i + 1);
  const Evaluation from_flat = run(kFlat, {}, {{"parameters", vector(flat)}});
  EXPECT_EQ(from_flat.outputs.at("w").data, (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(from_flat.outputs.at("w").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(from_flat.outputs.at("b").data, (Numbers{9, 10, 11}));
  EXPECT_EQ(from_flat.outputs.at("all").data, flat);
  const Numbers doubled{2, 4, 6, 8, 10, 12, 0, 0, 18, 20, 22, 0, 0, 0, 0, 0};
  EXPECT_EQ(from_flat.states.at("parameters").data, doubled);

  const Tensors named{{"w", {DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}}}, {"b", vector({9, 10, 11})}};
  const Evaluation by_name = run(kFlat, {}, named);
  EXPECT_EQ(by_name.outputs.at("all").data, (Numbers{1, 2, 3, 4, 5, 6, 0, 0, 9, 10, 11, 0, 0, 0, 0, 0}));
  EXPECT_EQ(by_name.states.at("parameters").data, doubled);
}

TEST(Evaluator, UpdatesAtADynamicIndex) {
  constexpr std::string_view text = R"(
state "cache" : f32[2,4]
graph @g(%x: f32[2,1], %at: i32[], %each: i32[2]) {
  %old = state "cache"
  update %x, %at {state = "cache", axis = 1}
  update %x, %each {state = "cache", axis = 1}
  return r = %old
})";
  const Tensors inputs{{"x", {DType::f32, {2, 1}, {10, 20}}},
                       {"at", scalar(3, DType::i32)},
                       {"each", vector({0, 2}, DType::i32)}};
  const Tensors states{{"cache", {DType::f32, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}}}};
  const Evaluation result = run(text, inputs, states);
  EXPECT_EQ(result.outputs.at("r").data, states.at("cache").data);
  EXPECT_EQ(result.states.at("cache").data, (Numbers{10, 2, 3, 10, 5, 6, 20, 20}));
  Tensors outside = inputs;
  outside["at"].data[0] = 4;
  EXPECT_THROW(run(text, outside, states), Error);
}

TEST(Evaluator, CountersKeepTheirType) {
  const Evaluation result =
      run("state \"n\" : i32[]\ngraph @g() { %n = state \"n\" %1 = constant {value = 1} : i32[] "
          "%2 = add %n, %1 update %2 {state = \"n\"} }",
          {}, {{"n", scalar(41, DType::i32)}});
  EXPECT_EQ(result.states.at("n").data, (Numbers{42}));
  EXPECT_EQ(result.states.at("n").dtype, DType::i32);
}

// ---- fusions and errors

TEST(Evaluator, AFusionIsItsBody) {
  EXPECT_EQ(output("graph @g(%x: f32[3]) { %a, %b = fusion (%p = %x) { %0 = mul %p, %p "
                   "%1 = reduce add %0 {axes = [0]} return %0, %1 } %c = broadcast %b {axes = []} : f32[3] "
                   "%d = add %a, %c return r = %d }",
                   {{"x", vector({1, 2, 3})}}),
            (Numbers{15, 18, 23}));
}

void expect_error(std::string_view text, const Tensors& inputs, const Tensors& states,
                  std::string_view message) {
  try {
    run(text, inputs, states);
    FAIL() << "expected: " << message;
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find(message), std::string_view::npos) << error.what();
  }
}

TEST(Evaluator, NamesWhatIsMissingOrMisshaped) {
  expect_error("graph @g(%x: f32[3]) { return r = %x }", {}, {}, "input \"x\" (f32[3]) of @g was not given");
  expect_error("graph @g(%x: f32[3]) { return r = %x }", {{"x", vector({1, 2})}}, {},
               "input \"x\" is f32[3] = [3], given [2] with 2 elements");
  expect_error("graph @g() { %w = parameter \"w\" : f32[2] return r = %w }", {}, {},
               "parameter \"w\" (f32[2]) was not given");
  expect_error("graph @g() { %w = state \"s\" : f32[2] return r = %w }", {}, {},
               "state \"s\" (f32[2]) was not given");
  expect_error("graph @g(%x: f32[2]) { %0 = softmax %x \"h.0\" return r = %0 }", {{"x", vector({1, 2})}}, {},
               "softmax \"h.0\": the evaluator knows primitives only; decompose first");
}

// ---- dual numbers

TEST(EvaluateDual, WorkedExamples) {
  const auto slopes = [](std::string_view text, const Tensors& inputs) {
    const auto module = parse_module(text);
    std::map<std::string, double> result;
    for (const auto& [name, tensor] : inputs) {
      const Tensors along{{name, {tensor.dtype, tensor.shape, {1}}}};
      const DualEvaluation dual = evaluate_dual(*module->graphs[0], inputs, {}, along, {});
      for (const auto& [out, tangent] : dual.tangent.outputs) result[out + "/" + name] = tangent.data[0];
    }
    return result;
  };
  // f = (x + y) z at (-2, 5, -4)
  auto f =
      slopes("graph @g(%x: f32[], %y: f32[], %z: f32[]) { %0 = add %x, %y %1 = mul %0, %z return f = %1 }",
             {{"x", scalar(-2)}, {"y", scalar(5)}, {"z", scalar(-4)}});
  EXPECT_EQ(f["f/x"], -4);
  EXPECT_EQ(f["f/y"], -4);
  EXPECT_EQ(f["f/z"], 3);
  // y1 = (a + b)^2, y2 = (a - b)^2 at (2, 4)
  auto y = slopes(
      "graph @g(%a: f32[], %b: f32[]) { %0 = add %a, %b %1 = sub %a, %b %2 = mul %0, %0 %3 = mul %1, %1 "
      "return y1 = %2, y2 = %3 }",
      {{"a", scalar(2)}, {"b", scalar(4)}});
  EXPECT_EQ(y["y1/a"], 12);
  EXPECT_EQ(y["y1/b"], 12);
  EXPECT_EQ(y["y2/a"], -4);
  EXPECT_EQ(y["y2/b"], 4);
}

/// A graph through most primitives: the tangent equals the central difference along a random direction.
TEST(EvaluateDual, EqualsCentralDifferencesThroughAGraph) {
  const auto module = parse_module(R"(
symbols B <= 3, T <= 7
parameter "w" : f32[5,4]
graph @g(%x: f32[B,T,4], %ids: i32[B,T]) {
  %w = parameter "w"
  %y = matmul %x, %w {spec = "btc,oc->bto"}
  %m, %s = reduce max_sumexp %y {axes = [2]}
  %l = log %s
  %lse = add %l, %m
  %wide = broadcast %lse {axes = [0, 1]} : f32[B,T,5]
  %d = sub %y, %wide
  %p = exp %d
  %g = gather %w, %ids {axis = 0}
  %z = mul %g, %x
  %zs = reduce add %z {axes = [0, 1]}
  %t = transpose %p {permutation = [2, 0, 1]}
  %top, %at = reduce argmax %t {axes = [0]}
  %both = concat %p, %d {axis = 1}
  %cut = slice %both {axis = 1, begin = T} : f32[B,T,5]
  %flat = reshape %cut : f32[B*T,5]
  %i = scatter_add %w, %ids, %z {axis = 0}
  %still = stop_gradient %w
  return zs = %zs, top = %top, flat = %flat, scattered = %i, still = %still
})");
  const Graph& graph = *module->graphs[0];
  const EvaluateOptions options{{{"B", 2}, {"T", 3}}, {}, false, false};
  const Tensors inputs = random_inputs(graph, 3, options.symbols),
                states = random_states(graph, 3, options.symbols);
  std::mt19937_64 random(5);
  const Tensor direction = testing::random_tensor({DType::f32, {5, 4}}, {}, random);
  const DualEvaluation dual = evaluate_dual(graph, inputs, states, {{"w", direction}}, options);
  constexpr double h = 1e-5;
  const auto shifted = [&](double step) {
    Tensors moved = states;
    for (size_t i = 0; i < direction.data.size(); ++i) moved["w"].data[i] += step * direction.data[i];
    return evaluate(graph, inputs, moved, options);
  };
  const Evaluation above = shifted(h), below = shifted(-h), here = shifted(0);
  for (const auto& [name, tangent] : dual.tangent.outputs) {
    EXPECT_LT(relative_error(dual.value.outputs.at(name), here.outputs.at(name)), 1e-14);
    Tensor slope = above.outputs.at(name);
    for (size_t i = 0; i < slope.data.size(); ++i)
      slope.data[i] = name == "still" ? 0 : (slope.data[i] - below.outputs.at(name).data[i]) / (2 * h);
    EXPECT_LT(relative_error(tangent, slope), 1e-8) << name;
  }
}

TEST(EvaluateDual, TangentsOfFlatStates) {
  const auto module = parse_module(kFlat);
  Tensor flat = vector(Numbers(16, 1)), along = vector(Numbers(16, 0));
  along.data[9] = 1;
  const DualEvaluation dual =
      evaluate_dual(*module->graphs[0], {}, {{"parameters", flat}}, {{"parameters", along}}, {});
  EXPECT_EQ(dual.tangent.outputs.at("b").data, (Numbers{0, 1, 0}));
  EXPECT_EQ(dual.tangent.outputs.at("w").data, (Numbers(6, 0)));
  EXPECT_EQ(dual.tangent.states.at("parameters").data[9], 2);
}

}  // namespace
}  // namespace smelt
