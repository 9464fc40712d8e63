// Random graphs and their gradients, compiled for the GPU of this machine, against the evaluator; skipped
// where there is none. SMELT_SWEEP=0:10000 runs those cases; several processes can share a sweep.
#include <cstdlib>

#include "passes/graph/autodiff/differentiate.h"
#include "runtime/cuda/device.h"
#include "tests/compiler/grouped_products.h"

namespace smelt {
namespace {

using testing::expect_cpu_matches;
using testing::random_module;
using testing::random_sizes;

CompileOptions for_this_gpu() {
  CompileOptions options;
  options.target = "sm_" + std::to_string(cuda::Device::open().info().compute_capability);
  return options;
}

struct Cases {
  uint64_t begin = 0, end = 40;
};

Cases cases() {
  const char* text = std::getenv("SMELT_SWEEP");
  if (!text) return {};
  char* colon = nullptr;
  const uint64_t begin = std::strtoull(text, &colon, 10);
  return {begin, std::strtoull(colon + (*colon == ':'), nullptr, 10)};
}

class GpuDifferential : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  }
};

TEST_F(GpuDifferential, ForwardGraphs) {
  const CompileOptions options = for_this_gpu();
  for (uint64_t seed = cases().begin; seed < cases().end; seed += 2) {
    SCOPED_TRACE(seed);
    EXPECT_NO_THROW(
        expect_cpu_matches(*random_module(seed), {.symbols = random_sizes(seed), .seed = seed + 1}, options));
  }
}

TEST_F(GpuDifferential, GradientsOfGraphs) {
  const CompileOptions options = for_this_gpu();
  for (uint64_t seed = cases().begin + 1; seed < cases().end; seed += 2) {
    auto module = random_module(seed + 1000, {.nodes = 8, .scalar = true});
    differentiate(*module->graphs.front(), {.output = "loss", .wrt = {"x"}, .seed = 1});
    SCOPED_TRACE(seed);
    EXPECT_NO_THROW(expect_cpu_matches(*module, {.symbols = random_sizes(seed), .seed = seed + 2}, options));
  }
}

TEST_F(GpuDifferential, GroupedProducts) {
  testing::expect_grouped_products(DType::f32, for_this_gpu());
  testing::expect_grouped_products(DType::bf16, for_this_gpu());
}

/// Rows and columns of odd sizes, each also where no vector fits.
TEST_F(GpuDifferential, OddSizes) {
  const char* const texts[] = {R"(symbols B <= 777, N <= 777
graph @main(%x: f32[B,N], %w: f32[N], %b: f32[N]) {
  %y = layer_norm %x, %w, %b {eps = 1e-5} : f32[B,N]
  return y = %y
})",
                               R"(symbols B <= 777, N <= 777
graph @main(%x: f32[B,N], %w: f32[N], %b: f32[N]) {
  %y = softmax %x : f32[B,N]
  return y = %y
})",
                               R"(symbols B <= 777, N <= 777
graph @main(%x: f32[B,N], %w: f32[N], %b: f32[N]) {
  %c = reduce add %x {axes = [0]}
  %m = reduce max %x {axes = [1]}
  %z = gelu %x
  return c = %c, m = %m, z = %z
})"};
  for (const char* text : texts)
    for (const int64_t rows : {1, 3, 197})
      for (const int64_t columns : {1, 3, 31, 33, 197, 777}) {
        const auto module = parse_module(text);
        expect_cpu_matches(*module, {.symbols = {{"B", rows}, {"N", columns}}, .seed = 3}, for_this_gpu());
      }
}

/// Lengths around the rounds of indices that are under way at a time, widths with and without cut tiles.
TEST_F(GpuDifferential, SumsDownTheColumns) {
  const auto module = parse_module(R"(symbols B <= 4100, N <= 2304
graph @main(%x: f32[B,N], %y: f32[B,N]) {
  %s = reduce add %x {axes = [0]}
  %p = mul %x, %y
  %t = reduce add %p {axes = [0]}
  return s = %s, t = %t
})");
  for (const int64_t rows : {1, 127, 264, 1029, 4100})
    for (const int64_t columns : {33, 768, 2304})
      expect_cpu_matches(*module, {.symbols = {{"B", rows}, {"N", columns}}, .seed = 5}, for_this_gpu());
}

/// At an address that four bytes divide, and of a GEMM with two batch axes that no stride walks as one.
TEST_F(GpuDifferential, BiasesOfProducts) {
  expect_cpu_matches(*parse_module(R"(symbols B <= 64
graph @main(%x: f32[B,16], %w: f32[32,16], %c: f32[33]) {
  %s = slice %c {axis = 0, begin = 1} : f32[32]
  %y = linear %x, %w, %s : f32[B,32]
  return y = %y
})"),
                     {.symbols = {{"B", 33}}, .seed = 6}, for_this_gpu());
  expect_cpu_matches(*parse_module(R"(symbols B <= 4, H <= 5
graph @main(%x: f32[B,6,H,7,16], %w: f32[32,16], %b: f32[32]) {
  %t = transpose %x {permutation = [2,0,1,3,4]} : f32[H,B,6,7,16]
  %m = matmul %t, %w {spec = "hbtdc,oc->hbtdo"} : f32[H,B,6,7,32]
  %s = broadcast %b {axes = [4]} : f32[H,B,6,7,32]
  %y = add %m, %s : f32[H,B,6,7,32]
  return y = %y
})"),
                     {.symbols = {{"B", 3}, {"H", 5}}, .seed = 7}, for_this_gpu());
}

/// A mask that differs in one place from the host's Philox is no rounding.
TEST_F(GpuDifferential, DropoutMasks) {
  for (const int64_t columns : {1, 3, 8, 31, 197, 777, 4096})
    expect_cpu_matches(*parse_module(R"(symbols B <= 33, N <= 4096
graph @main(%x: f32[B,N]) {
  %y = dropout %x {p = 0.1, id = 5} : f32[B,N]
  return y = %y
})"),
                       {.symbols = {{"B", 33}, {"N", columns}}, .seed = 8}, for_this_gpu());
}

TEST_F(GpuDifferential, LongRows) {
  const auto module = parse_module(R"(symbols B <= 5, N <= 50257
graph @main(%x: f32[B,N]) {
  %y = softmax %x : f32[B,N]
  return y = %y
})");
  for (const int64_t columns : {64, 50257})
    expect_cpu_matches(*module, {.symbols = {{"B", 5}, {"N", columns}}, .seed = 4}, for_this_gpu());
}

}  // namespace
}  // namespace smelt
