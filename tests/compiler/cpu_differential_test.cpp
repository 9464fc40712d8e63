// Random graphs and their gradients, compiled for the CPU, against the evaluator.
#include "passes/graph/autodiff/differentiate.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

using testing::CpuCase;
using testing::expect_cpu_matches;
using testing::random_module;
using testing::random_sizes;

class CpuDifferential : public ::testing::TestWithParam<uint64_t> {};

TEST_P(CpuDifferential, ForwardGraphs) {
  const auto module = random_module(GetParam());
  expect_cpu_matches(*module, {.symbols = random_sizes(GetParam()), .seed = GetParam() + 1});
}

TEST_P(CpuDifferential, GradientsOfGraphs) {
  auto module = random_module(GetParam() + 1000, {.nodes = 8, .scalar = true});
  Graph& graph = *module->graphs.front();
  differentiate(graph, {.output = "loss", .wrt = {"x"}, .seed = 1});
  expect_cpu_matches(*module, {.symbols = random_sizes(GetParam()), .seed = GetParam() + 2});
}

INSTANTIATE_TEST_SUITE_P(Seeds, CpuDifferential, ::testing::Range<uint64_t>(0, 24));

/// A broadcast is computed where it is read, but not as the table of a gather.
TEST(CpuKernels, ABroadcastAsATable) {
  expect_cpu_matches(*parse_module(R"(symbols B <= 4, N <= 33
graph @main(%x: f32[N], %i: i32[B]) {
  %t = broadcast %x {axes = [1]} : f32[5,N]
  %y = gather %t, %i {axis = 0} : f32[B,N]
  return y = %y
})"),
                     {.symbols = {{"B", 3}, {"N", 31}}, .seed = 2});
}

/// One graph in text form at many sizes.
void expect_text_matches(std::string_view text, std::initializer_list<int64_t> sizes) {
  const auto module = parse_module(text);
  for (int64_t n : sizes) expect_cpu_matches(*module, {.symbols = {{"B", 3}, {"N", n}}, .seed = 11});
}

TEST(CpuKernels, LayerNormAtOddWidths) {
  expect_text_matches(R"(symbols B <= 4, N <= 777
graph @main(%x: f32[B,N], %w: f32[N], %b: f32[N]) {
  %y = layer_norm %x, %w, %b {eps = 1e-5} : f32[B,N]
  return y = %y
})",
                      {1, 3, 31, 33, 197, 777});
}

TEST(CpuKernels, LongRows) {
  expect_text_matches(R"(symbols B <= 3, N <= 50257
graph @main(%x: f32[B,N]) {
  %y = softmax %x : f32[B,N]
  return y = %y
})",
                      {64, 50257});
}

TEST(CpuKernels, ANormNobodyThoughtOf) {
  expect_text_matches(R"(symbols B <= 4, N <= 197
graph @main(%x: f32[B,N]) {
  %a = abs %x
  %s = reduce add %a {axes = [1]}
  %e = constant {value = 0.5} : f32[B]
  %t = add %s, %e
  %u = broadcast %t {axes = [0]} : f32[B,N]
  %y = div %x, %u
  return y = %y
})",
                      {1, 33, 197});
}

/// Rows whose mean is 1,000 times their deviation keep their digits.
TEST(CpuKernels, LayerNormOfShiftedRows) {
  const auto module = parse_module(R"(symbols B <= 4, N <= 197
graph @main(%x: f32[B,N], %w: f32[N], %b: f32[N]) {
  %c = constant {value = 1000.0} : f32[B,N]
  %z = add %x, %c
  %y = layer_norm %z, %w, %b {eps = 1e-5} : f32[B,N]
  return y = %y
})");
  for (int64_t n : {31, 197}) expect_cpu_matches(*module, {.symbols = {{"B", 4}, {"N", n}}, .seed = 5});
}

TEST(CpuKernels, ResultsDoNotDependOnThreads) {
  const auto module = parse_module(R"(symbols B <= 777, N <= 33
graph @main(%x: f32[B,N]) {
  %c = reduce add %x {axes = [0]}
  %a = reduce add %x {axes = [0, 1]}
  return c = %c, a = %a
})");
  CompileOptions options;
  options.mode = Mode::infer;
  const auto plan = std::make_shared<const Plan>(compile(module->clone(), options).plan);
  std::vector<float> x(777 * 33);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(static_cast<double>(i)) * 1e3);
  std::vector<std::vector<std::byte>> first;
  for (int threads : {1, 2, 3, 7}) {
    Session session(plan, {.threads = threads, .poison = true});
    session.initialize();
    const InputTensor input{"x", DType::f32, {777, 33}, x.data()};
    std::vector<std::vector<std::byte>> bytes;
    for (const HostTensor& output : session.run("main", {&input, 1})) bytes.push_back(output.bytes);
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << threads << " threads";
  }
}

}  // namespace
}  // namespace smelt
