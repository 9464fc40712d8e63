// Windows, strided slices, pads and convolutions through whole plans, on the CPU and with a GPU's kernels on
// the host, against the evaluator.
#include "passes/graph/autodiff/differentiate.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_validate.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

Plan windows_on_host(const Module& module, const CompileOptions& options) {
  CompileOptions of_gpu = options;
  of_gpu.target = "sm_90";
  return test::plan_on_host(compile(module.clone(), of_gpu, Stage::program).program);
}

using MakePlan = Plan (*)(const Module&, const CompileOptions&);

class WindowPlans : public ::testing::TestWithParam<MakePlan> {
 protected:
  static void expect(const std::string& text, const SymbolValues& symbols = {}) {
    SCOPED_TRACE(text);
    testing::expect_cpu_matches(*parse_module(text), {.symbols = symbols, .plan = GetParam()});
  }

  /// The graph's first output, and its gradients by the inputs x and w.
  static void expect_with_gradients(const std::string& text, const SymbolValues& symbols = {}) {
    expect(text, symbols);
    const auto module = parse_module(text);
    Graph& graph = *module->graphs.front();
    GraphBuilder b(graph);
    Value* y = graph.outputs.front().value;
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < y->rank(); ++i) axes.push_back(i);
    b.output("f", b.sum(b.mul(y, b.mul(y, b.input("weights", y->type))), axes));
    differentiate(graph, {.output = "f", .wrt = {"x", "w"}, .seed = 1});
    testing::expect_cpu_matches(*module, {.symbols = symbols, .plan = GetParam()});
  }
};

TEST_P(WindowPlans, LookAtResultsOfKernelsAndAtInputs) {
  for (const auto& [axis, size, step, dilation] :
       {std::tuple(0, 3, 1, 1), {0, 3, 2, 1}, {1, 3, 3, 1}, {1, 2, 1, 4}, {2, 5, 2, 1}, {2, 1, 3, 1}})
    expect(fmt::format("symbols B <= 33\ngraph @g(%x: f32[B,9,31]) {{\n  %e = exp %x\n"
                       "  %a = windows %e {{axis = {0}, size = {1}, step = {2}, dilation = {3}}}\n"
                       "  %b = windows %x {{axis = {0}, size = {1}, step = {2}, dilation = {3}}}\n"
                       "  %y = mul %a, %b\n  return y = %y, b = %b\n}}\n",
                       axis, size, step, dilation)
               .replace(0, 15, axis == 0 ? "symbols 9 <= B <= 33" : "symbols B <= 33"),
           {{"B", axis == 0 ? 31 : 3}});
}

TEST_P(WindowPlans, OfWindows) {
  expect(R"(graph @g(%x: f32[3,9,11]) {
  %e = exp %x
  %a = windows %e {axis = 2, size = 3, step = 2}
  %b = windows %a {axis = 1, size = 2}
  %s = reduce add %b {axes = [2, 4]}
  return s = %s
})");
}

TEST_P(WindowPlans, EverySecondAndThird) {
  for (const auto& [b, t] : {std::pair(1, 7), std::pair(3, 31), std::pair(5, 40)})
    expect(R"(symbols B <= 5, 7 <= T <= 40
graph @g(%x: f32[B,T,8]) {
  %e = exp %x
  %a = strided_slice %e {axis = 1, begin = 1, step = 3} : f32[B,floor_div(T - 2, 3) + 1,8]
  %even = strided_slice %e {axis = 2, begin = 0, step = 2} : f32[B,T,4]
  %odd = strided_slice %e {axis = 2, begin = 1, step = 2} : f32[B,T,4]
  %y = sub %even, %odd
  return a = %a, y = %y
})",
           {{"B", b}, {"T", t}});
}

TEST_P(WindowPlans, Pads) {
  for (const int64_t t : {1, 3, 31})
    expect(R"(symbols T <= 31
graph @g(%x: f32[3,T,5], %i: i32[T]) {
  %e = exp %x
  %a = pad %e {axis = 1, low = 2, high = T, value = 0.5}
  %b = pad %a {axis = 2, low = 0, high = 3, value = -1}
  %n = neg %b
  %c = pad %i {axis = 0, low = 1, high = 0, value = 7}
  return a = %a, n = %n, c = %c
})",
           {{"T", t}});
}

TEST_P(WindowPlans, Convolutions) {
  for (const auto& [b, t] : {std::pair(1, 31), std::pair(3, 33)})
    for (const char* attributes :
         {"", "{strides = [2]}", "{pads = [1, 1], strides = [2]}", "{dilations = [3], pads = [2, 1]}",
          "{groups = 3}", "{groups = 3, pads = [1, 1]}"}) {
      const bool grouped = std::string(attributes).find("groups") != std::string::npos;
      expect_with_gradients(
          fmt::format("symbols B <= 3, 12 <= T <= 33\ngraph @g(%x: f32[B,6,T], %w: f32[9,{},3]) {{\n"
                      "  %e = mul %x, %x\n  %y = conv %e, %w {}\n  return y = %y\n}}\n",
                      grouped ? 2 : 6, attributes),
          {{"B", b}, {"T", t}});
    }
}

/// Channels enough for sums of products at each place inside of the windows, without a copy of these.
TEST_P(WindowPlans, ConvolutionsOfManyChannels) {
  for (const char* attributes : {"", "{strides = [2], pads = [1, 1]}", "{dilations = [2]}", "{groups = 2}"}) {
    const bool grouped = std::string(attributes).find("groups") != std::string::npos;
    expect_with_gradients(
        fmt::format("symbols 12 <= T <= 65\ngraph @g(%x: f32[2,66,T], %w: f32[34,{},3], %bias: f32[34]) {{\n"
                    "  %e = mul %x, %x\n  %y = conv %e, %w, %bias {}\n  return y = %y\n}}\n",
                    grouped ? 33 : 66, attributes),
        {{"T", 63}});
  }
}

TEST_P(WindowPlans, ConvolutionsOfAChannelAGroup) {
  expect_with_gradients(R"(symbols 12 <= T <= 33
graph @g(%x: f32[3,7,T], %w: f32[7,1,5], %bias: f32[7]) {
  %y = conv %x, %w, %bias {groups = 7, pads = [2, 2]}
  return y = %y
})",
                        {{"T", 31}});
}

TEST_P(WindowPlans, ConvolutionsOfImages) {
  for (const char* attributes : {"", "{strides = [2, 3], pads = [1, 0, 1, 2]}", "{dilations = [2, 1]}"})
    expect_with_gradients(
        fmt::format("symbols 7 <= H <= 13\ngraph @g(%x: f32[2,3,H,11], %w: f32[5,3,3,2]) {{\n"
                    "  %y = conv %x, %w {}\n  return y = %y\n}}\n",
                    attributes),
        {{"H", 9}});
  expect_with_gradients(R"(graph @g(%x: f32[2,33,34,7], %w: f32[8,33,3,3]) {
  %y = conv %x, %w {pads = [1, 1, 1, 1]}
  return y = %y
})");
}

/// The first layers of a model of sounds: seven lengths, each half of the one before and less.
TEST_P(WindowPlans, AChainOfConvolutions) {
  expect(R"(symbols B <= 2, 80 <= T <= 200
graph @g(%x: f32[B,1,T], %w: f32[8,1,10], %v: f32[8,8,3], %u: f32[33,8,2]) {
  %a = conv %x, %w {strides = [5]}
  %b = gelu %a
  %c = conv %b, %v {strides = [2]}
  %d = gelu %c
  %e = conv %d, %u {strides = [2]}
  return e = %e
})",
         {{"B", 2}, {"T", 197}});
}

INSTANTIATE_TEST_SUITE_P(Targets, WindowPlans, ::testing::Values(&testing::compiled, &windows_on_host));

TEST(LeastSizes, AreCheckedWhenAPlanRuns) {
  const auto module = parse_module(R"(symbols 10 <= T <= 40
graph @g(%x: f32[T]) {
  %w = windows %x {axis = 0, size = 10, step = 5}
  %y = reduce add %w {axes = [1]}
  return y = %y
})");
  CompileOptions options;
  options.mode = Mode::infer;
  Session session = testing::cpu_session(testing::compiled(*module, options));
  const auto lengths = [&](int64_t t) {
    const Tensor x{DType::f32, {t}, std::vector<double>(static_cast<size_t>(t), 1)};
    return testing::run_entry(session, "g", {}, {{"x", x}}).at("y").shape.front();
  };
  EXPECT_EQ(lengths(10), 1);
  EXPECT_EQ(lengths(40), 7);
  try {
    lengths(9);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("T = 9: expected at least 10"), std::string::npos)
        << error.what();
  }
}

TEST(LeastSizes, ASizeThatCanBeBelowZeroDoesNotCompile) {
  const auto module = parse_module(R"(symbols 9 <= T <= 40
graph @g(%x: f32[T]) {
  %y = slice %x {axis = 0, begin = 10} : f32[T - 10]
  return y = %y
})");
  CompileOptions options;
  options.mode = Mode::infer;
  try {
    validate(testing::compiled(*module, options));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("its length T - 10 along axis 0 is below 0"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace smelt
