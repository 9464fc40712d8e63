// Kernels that share a launch, run on the host, against the evaluator.
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

/// Rows of other lengths, of which some do not end with a vector, a sum, and rows that go into a cache: none
/// needs another.
constexpr const char* kGraph = R"(symbols B <= 5, N <= 300
state "kept" {role = cache} : f32[5,1]
graph @main(%x: f32[B,40], %y: f32[B,3,17], %z: f32[B,N], %w: f32[5,1]) {
  %v = exp %w
  update %v {state = "kept"}
  %a = exp %x
  %b = tanh %y
  %c = reduce add %z {axes = [1]}
  %d = abs %z
  return a = %a, b = %b, c = %c, d = %d
})";

Plan side_by_side_on_host(const Module& module, const CompileOptions& asked) {
  CompileOptions options = asked;
  options.target = "sm_90", options.mode = Mode::infer;
  const Program program = compile(module.clone(), options, Stage::program).program;
  size_t most = 0;
  for (const Kernel& kernel : program.kernels) most = std::max(most, kernel.beside.size());
  EXPECT_GE(most, 2u) << "kernels beside another";
  return test::plan_on_host(program);
}

TEST(SideBySide, KernelsAreRightOnTheHost) {
  const auto module = parse_module(kGraph);
  for (const int64_t rows : {1, 5})
    for (const int64_t columns : {1, 255, 300}) {
      testing::CpuCase c{.symbols = {{"B", rows}, {"N", columns}}, .seed = 7};
      c.plan = side_by_side_on_host;
      testing::expect_cpu_matches(*module, c);
    }
}

}  // namespace
}  // namespace smelt
