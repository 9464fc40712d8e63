// Matmuls of i8 on the GPU of this machine: sums are exact, and the numbers of inference are those of the
// CPU; skipped where there is none, or one before sm_80.
#include "runtime/cuda/device.h"
#include "tests/support/rounded_products.h"

namespace smelt {
namespace {

class GpuByteProducts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
    options.target = "sm_" + std::to_string(cuda::Device::open().info().compute_capability);
    if (!parse_target(options.target).can.i8_products) GTEST_SKIP() << options.target << " has no i8";
  }
  CompileOptions options;
};

/// Also sums of a number of terms that no line of 16 bytes ends with.
TEST_F(GpuByteProducts, AreExact) {
  for (const auto& [n, k] : {std::pair(16, 16), {64, 64}, {208, 1104}, {3072, 768}, {64, 40}, {32, 17}})
    testing::expect_exact_byte_products(options, n, k);
}

TEST_F(GpuByteProducts, TrainedLayersMatchTheEvaluator) {
  for (const SymbolValues& sizes : testing::rounded_sizes()) {
    SCOPED_TRACE(fmt::format("{} x {}", sizes.at("B"), sizes.at("T")));
    auto module = testing::rounded_layers(144, 160);
    quantize_activations(*module, {.trains = true});
    differentiate(
        *module->graphs.front(),
        {.output = "loss_sum", .wrt = {"x", "w.weight", "w.input_bound", "v.input_bound"}, .seed = 1});
    const Graph& graph = *module->graphs.front();
    const Tensors inputs = testing::random_inputs(graph, 3, sizes), states = testing::states_of_layers(graph);
    EXPECT_TRUE(testing::differences_at(*module, {.symbols = sizes}, inputs, states, options).empty());
  }
}

}  // namespace
}  // namespace smelt
