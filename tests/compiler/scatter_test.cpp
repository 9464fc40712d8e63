// scatter, sort and the gradients of top_k through whole plans, on the CPU and with a GPU's kernels on the
// host, against the evaluator.
#include "passes/graph/autodiff/differentiate.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

Plan scattered_on_host(const Module& module, const CompileOptions& options) {
  CompileOptions of_gpu = options;
  of_gpu.target = "sm_90";
  return test::plan_on_host(compile(module.clone(), of_gpu, Stage::program).program);
}

class ScatterPlans : public ::testing::TestWithParam<Plan (*)(const Module&, const CompileOptions&)> {
 protected:
  static void expect(const std::string& text, const SymbolValues& symbols = {}) {
    SCOPED_TRACE(text);
    for (const uint64_t seed : {1, 2})
      testing::expect_cpu_matches(*parse_module(text),
                                  {.symbols = symbols, .seed = seed, .plan = GetParam()});
  }

  static void expect_gradient(const std::string& text, const std::vector<std::string>& wrt,
                              const SymbolValues& symbols = {}) {
    SCOPED_TRACE(text);
    const auto module = parse_module(text);
    differentiate(*module->graphs.front(), {.output = "f", .wrt = wrt, .seed = 1});
    testing::expect_cpu_matches(*module, {.symbols = symbols, .plan = GetParam()});
  }
};

TEST_P(ScatterPlans, TheLastUpdateStays) {
  for (const int64_t b : {1, 3, 31, 197})
    for (const char* type : {"f32", "i32", "bool"})
      expect(fmt::format(R"(symbols B <= 197
graph @g(%t: {0}[33,3], %i: i32[B], %u: {0}[B,3]) {{
  %y = scatter %t, %i, %u {{axis = 0}}
  return y = %y, t = %t
}})",
                         type),
             {{"B", b}});
}

TEST_P(ScatterPlans, AlongAnyAxis) {
  expect(R"(symbols B <= 5, T <= 33
graph @g(%t: f32[B,7,3], %i: i32[4,T], %u: f32[B,4,T,3]) {
  %n = neg %t
  %y = scatter %n, %i, %u {axis = 1}
  %e = exp %y
  return e = %e
})",
         {{"B", 3}, {"T", 31}});
  expect(R"(symbols B <= 5
graph @g(%t: f32[B,7], %i: i32[9], %u: f32[B,9]) {
  %v = exp %u
  %y = scatter %t, %i, %v {axis = 1}
  return y = %y
})",
         {{"B", 5}});
  expect(R"(graph @g(%t: f32[7,33], %i: i32[], %u: f32[33]) {
  %y = scatter %t, %i, %u {axis = 0}
  return y = %y
})");
}

/// Loading the plan proves that they are rows of the table, those that no update reaches among them.
TEST_P(ScatterPlans, WhatIsScatteredMayBeIndices) {
  for (const char* init : {"constant {value = 0}", "iota {axis = 0}"})
    for (const char* unique : {"", ", unique = true"})
      for (const int64_t b : {1, 3, 31, 33, 197})
        expect(fmt::format(R"(symbols B <= 197
graph @g(%t: f32[B,3], %w: f32[B]) {{
  %n = iota {{axis = 0}} : i32[B]
  %last = reduce max %n {{axes = [0]}} : i32[]
  %all = broadcast %last {{axes = []}} : i32[B]
  %i = sub %all, %n
  %x = {} : i32[B]
  %s = scatter %x, %i, %n {{axis = 0{}}}
  %y = gather %t, %s {{axis = 0}}
  return y = %y
}})",
                           init, unique),
               {{"B", b}});
}

/// Their rows may lie apart in memory, and what is between them is nothing.
TEST_P(ScatterPlans, RowsOfIndicesMayBeScattered) {
  for (const int64_t b : {1, 31, 33})
    expect(fmt::format(R"(symbols B <= 33
graph @g(%t: f32[B,5], %i: i32[7], %z: i32[7,3]) {{
  %n = iota {{axis = 0}} : i32[B,3]
  %k = abs %z
  %last = reduce max %n {{axes = [0, 1]}} : i32[]
  %most = broadcast %last {{axes = []}} : i32[7,3]
  %u = min %k, %most
  %s = scatter %n, %i, %u {{axis = 0}}
  %y = gather %t, %s {{axis = 0}}
  return y = %y
}})"),
           {{"B", b}});
}

TEST_P(ScatterPlans, HasAGradient) {
  expect_gradient(R"(symbols B <= 33
graph @g(%t: f32[7,3], %i: i32[B], %u: f32[B,3], %w: f32[7,3]) {
  %y = scatter %t, %i, %u {axis = 0}
  %e = mul %y, %y
  %p = mul %e, %w
  %f = reduce add %p {axes = [0, 1]}
  return f = %f
})",
                  {"t", "u"}, {{"B", 31}});
}

TEST_P(ScatterPlans, Sorts) {
  for (const char* attributes : {"", "{descending = true}"})
    for (const auto& [b, t] : {std::pair(1, 1), std::pair(3, 33), std::pair(5, 197)})
      for (const char* type : {"f32", "i32"})
        expect(fmt::format("symbols B <= 5, T <= 197\ngraph @g(%x: {}[B,T]) {{\n  %y = neg %x\n"
                           "  %v, %i = sort %y {}\n  return v = %v, i = %i\n}}\n",
                           type, attributes),
               {{"B", b}, {"T", t}});
}

TEST_P(ScatterPlans, SortsKeepTheOrderOfEqualsAndPutNanLast) {
  const auto module = parse_module(R"(graph @g(%x: f32[7]) {
  %v, %i = sort %x
  %w, %j = sort %x {descending = true}
  return v = %v, i = %i, w = %w, j = %j
})");
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   inf = std::numeric_limits<double>::infinity();
  const Tensors inputs = {{"x", {DType::f32, {7}, {2, nan, 1, inf, 2, -inf, nan}}}};
  const Tensors found = testing::run_on_cpu(*module, {.symbols = {}, .plan = GetParam()}, inputs, {});
  EXPECT_EQ(found.at("i").data, (std::vector<double>{5, 2, 0, 4, 3, 1, 6}));
  EXPECT_EQ(found.at("j").data, (std::vector<double>{1, 6, 3, 0, 4, 2, 5}));
  EXPECT_EQ(found.at("v").data[0], -inf);
  EXPECT_TRUE(std::isnan(found.at("v").data[6]));
}

TEST_P(ScatterPlans, OrderHasAGradient) {
  for (const char* op : {"top_k %n {k = 3}", "sort %n", "sort %n {descending = true}"}) {
    const bool all = std::string(op).starts_with("sort");
    expect_gradient(fmt::format(R"(symbols B <= 5
graph @g(%x: f32[B,7], %w: f32[B,{0}]) {{
  %n = neg %x
  %y, %i = {1}
  %e = mul %y, %y
  %p = mul %e, %w
  %f = reduce add %p {{axes = [0, 1]}}
  return f = %f
}})",
                                all ? 7 : 3, op),
                    {"x"}, {{"B", 3}});
  }
  expect_gradient(R"(symbols B <= 5
graph @g(%x: f32[B,7], %w: f32[B,7]) {
  %n = neg %x
  %y = scan %n {axis = 1, kind = "add"}
  %p = mul %y, %w
  %f = reduce add %p {axes = [0, 1]}
  return f = %f
})",
                  {"x"}, {{"B", 3}});
}

INSTANTIATE_TEST_SUITE_P(Targets, ScatterPlans, ::testing::Values(&testing::compiled, &scattered_on_host));

}  // namespace
}  // namespace smelt
