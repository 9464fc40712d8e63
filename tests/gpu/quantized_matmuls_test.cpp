// Matmuls in f8e4m3 and transposing copies on the GPU of this machine, against the evaluator; skipped where
// there is none, or one before sm_89.
#include "runtime/cuda/device.h"
#include "tests/support/quantized_products.h"

namespace smelt {
namespace {

class GpuQuantizedMatmuls : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    options.target = "sm_" + std::to_string(cuda::Device::open().info().compute_capability);
    if (!parse_target(options.target).can.scaled_f8) GTEST_SKIP() << options.target << " has no f8e4m3";
  }
  CompileOptions options;
};

TEST_F(GpuQuantizedMatmuls, AreNearTheEvaluator) {
  testing::expect_quantized_layers_are_near(options, true, 25);
  options.storage = DType::bf16;
  testing::expect_quantized_layers_are_near(options, false, 14);
}

/// Small products between two large ones that cancel. The tensor cores of sm_90 keep about 14 bits of a sum,
/// in which all small ones would be lost: the library adds such sums up in f32.
TEST_F(GpuQuantizedMatmuls, FindANeedle) {
  const auto module = parse_module(R"(graph @g(%x: f32[16,4096], %w: f32[16,4096]) {
  %a = convert %x : f8e4m3[16,4096]
  %b = convert %w : f8e4m3[16,4096]
  %y = matmul %a, %b {spec = "bc,oc->bo"} : f32[16,16]
  return y = %y
})");
  Tensors inputs = testing::random_inputs(*module->graphs.front(), 1, {});
  auto &x = inputs.at("x").data, &w = inputs.at("w").data;
  std::ranges::fill(x, 1), std::ranges::fill(w, 1.0 / 32);
  for (size_t row = 0; row < 16; ++row) {
    const size_t first = row * 4096, last = first + 4095;
    x[first] = x[last] = 448, w[first] = 448, w[last] = -448;
  }
  const Tensors found = testing::run_on_cpu(*module, {}, inputs, {}, options);
  for (const double y : found.at("y").data) EXPECT_NEAR(y, 4094.0 / 32, 12);
}

TEST_F(GpuQuantizedMatmuls, TransposesOfAnySize) {
  for (const std::string type : {"u8", "bf16", "f32", "i32"}) {
    const auto module = parse_module(fmt::format(R"(symbols M <= 700, N <= 700
graph @g(%x: {0}[M,N]) {{
  %y = transpose %x {{permutation = [1, 0]}} : {0}[N,M]
  return y = %y
}})",
                                                 type));
    for (const int64_t rows : {1, 31, 128, 257, 700})
      for (const int64_t columns : {1, 4, 126, 128, 515}) {
        SCOPED_TRACE(fmt::format("{} {} x {}", type, rows, columns));
        testing::expect_cpu_matches(*module, {.symbols = {{"M", rows}, {"N", columns}}, .seed = 4}, options);
      }
  }
}

}  // namespace
}  // namespace smelt
