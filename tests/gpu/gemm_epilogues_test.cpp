// Matmuls whose kernel goes on with each element of the result, on the GPU of this machine against float64:
// every order of the operands, sizes from below a tile to several, odd ones, with column sums and random
// numbers; skipped where there is no GPU of sm_90. SMELT_SWEEP=0:200 runs those cases; several processes can
// share a sweep.
#include <cstdlib>

#include "runtime/cuda/device.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/gemm_epilogues.h"

namespace smelt::gemm_epilogues {
namespace {

void round_all(Tensors& tensors, DType dtype) {
  for (auto& [name, tensor] : tensors)
    for (double& x : tensor.data) {
      const auto single = static_cast<float>(x);
      x = dtype == DType::bf16 ? from_bf16(to_bf16(single)) : from_f16(to_f16(single));
    }
}

void expect_right(const Module& module, Session& session, int64_t rows, DType storage, uint64_t seed) {
  const Philox philox{.seed = 7, .step = 3, .micro_step = 0};
  const SymbolValues symbols = {{"M", rows}};
  std::unique_ptr<Module> primitive = module.clone();
  Graph& graph = *primitive->graphs.front();
  decompose(graph, {});
  Tensors inputs = testing::random_inputs(graph, seed, symbols);
  round_all(inputs, storage);
  const Tensors expected = evaluate(graph, inputs, {}, {.symbols = symbols, .philox = philox}).outputs;
  const Tensors actual = testing::run_entry(session, "main", philox, inputs),
                again = testing::run_entry(session, "main", philox, inputs);
  const double bound = storage == DType::bf16 ? 4e-3 : 6e-4;
  for (const auto& [name, reference] : expected) {
    EXPECT_LE(testing::relative_error(actual.at(name), reference), bound)
        << name << " of " << rows << " rows";
    EXPECT_EQ(actual.at(name).data, again.at(name).data) << name << " differs from run to run";
  }
}

TEST(GpuGemmEpilogues, AgreeWithFloat64) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  if (cuda::Device::open().info().compute_capability != 90) GTEST_SKIP() << "no GPU of sm_90";
  const char* sweep = std::getenv("SMELT_SWEEP");
  uint64_t begin = 0, end = 32;
  if (sweep) {
    char* colon = nullptr;
    begin = std::strtoull(sweep, &colon, 10);
    end = std::strtoull(colon + (*colon == ':'), nullptr, 10);
  }
  for (uint64_t seed = begin; seed < end; ++seed) {
    const std::string text = module_text(seed);
    SCOPED_TRACE(fmt::format("{}\n{}", seed, text));
    const auto module = parse_module(text);
    CompileOptions options = options_of(seed);
    options.target = "native";
    Session session = testing::cpu_session(compile(module->clone(), options).plan);
    EXPECT_TRUE(std::ranges::any_of(session.plan().kernels, has_template));
    std::mt19937_64 random(seed);
    for (const int64_t rows : {one_of(kHeights, random), int64_t{517}})
      expect_right(*module, session, rows, options.storage, seed);
  }
}

}  // namespace
}  // namespace smelt::gemm_epilogues
