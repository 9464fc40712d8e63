// The kernel that makes floats of packed codes, on the GPU of this machine, against the evaluator; skipped
// where there is none.
#include <random>

#include "runtime/cuda/device.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/quantized_products.h"

namespace smelt {
namespace {

struct PackedCase {
  std::string format, dtype;
  int64_t columns;  // bytes of codes of a row
  int64_t groups;
  bool zeros;
};

/// Codes begin `skipped` bytes after the beginning of a row of the input.
std::unique_ptr<Module> unpacking(const PackedCase& c, int64_t skipped) {
  const int64_t numbers = c.columns * (c.format == "int4" || c.format == "nf4" ? 2 : 1);
  return parse_module(fmt::format(R"(symbols M <= 300
graph @g(%all: u8[M,{0}], %s: {1}[M,{2}], %z: i8[M,{2}]) {{
  %codes = slice %all {{axis = 1, begin = {3}}} : u8[M,{4}]
  %y = dequantize %codes, %s{5} {{format = "{6}"}} : {1}[M,{7}]
  return y = %y
}})",
                                  c.columns + skipped, c.dtype, c.groups, skipped, c.columns,
                                  c.zeros ? ", %z" : "", c.format, numbers));
}

Tensors inputs_of(const Graph& graph, const SymbolValues& symbols) {
  Tensors inputs = testing::random_inputs(graph, 3, symbols);
  std::mt19937_64 random(11);
  for (double& code : inputs.at("all").data) code = static_cast<double>(random() % 256);
  return inputs;
}

class GpuDequantize : public ::testing::TestWithParam<PackedCase> {};

TEST_P(GpuDequantize, MakesTheNumbersOfTheEvaluator) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  CompileOptions options;
  options.target = "cuda", options.mode = Mode::infer;
  for (const int64_t skipped : {0, 1, 4})
    for (const int64_t rows : {1, 3, 300}) {
      SCOPED_TRACE(fmt::format("{} rows of {}, from {}", rows, GetParam().format, skipped));
      const auto module = unpacking(GetParam(), skipped);
      const Graph& graph = *module->graphs.front();
      const SymbolValues symbols{{"M", rows}};
      const Tensors inputs = inputs_of(graph, symbols);
      const Tensors found = testing::run_on_cpu(*module, {.symbols = symbols}, inputs, {}, options);
      const auto expected = evaluate(graph, inputs, {}, {.symbols = symbols, .philox = {}, .round = {}});
      const std::vector<double>&a = found.at("y").data, &b = expected.outputs.at("y").data;
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i)
        if (!std::isnan(b[i]) || !std::isnan(a[i])) {
          ASSERT_NEAR(a[i], b[i], std::abs(b[i]) * 0x1p-8) << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, GpuDequantize,
    ::testing::Values(PackedCase{"int4", "bf16", 32, 2, false}, PackedCase{"int4", "f16", 132, 3, true},
                      PackedCase{"nf4", "f32", 516, 1, false}, PackedCase{"nf4", "bf16", 4, 1, false},
                      PackedCase{"fp8", "bf16", 260, 5, false}, PackedCase{"int8", "f32", 64, 4, true},
                      PackedCase{"int8", "f16", 1028, 1, false}));

}  // namespace
}  // namespace smelt
