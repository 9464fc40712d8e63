// Comparison of the modules of gemm_epilogues.h, run by a session, with the float64 evaluator.
#pragma once

#include <gtest/gtest.h>

#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/gemm_epilogues.h"

namespace smelt::gemm_epilogues {

inline void round_all(Tensors& tensors, DType dtype) {
  for (auto& [name, tensor] : tensors)
    for (double& x : tensor.data) {
      const auto single = static_cast<float>(x);
      x = dtype == DType::bf16 ? from_bf16(to_bf16(single)) : from_f16(to_f16(single));
    }
}

/// Changes each element by a relative error of up to `size`.
inline void perturb(Tensors& tensors, double size, std::mt19937_64& random) {
  std::uniform_real_distribution<double> error(-size, size);
  for (auto& [name, tensor] : tensors)
    for (double& x : tensor.data) x *= 1 + error(random);
}

/// Runs the entry "main" twice with random data for `rows` rows. Expects the results of the evaluator within
/// the error of 16-bit floats, and the same bits from both runs. The error may be larger where the results
/// for slightly other inputs also differ by more, as sums of few terms that cancel.
inline void expect_right(const Module& module, Session& session, int64_t rows, DType storage, uint64_t seed) {
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
  std::mt19937_64 random(seed);
  perturb(inputs, storage == DType::bf16 ? 0x1p-8 : 0x1p-11, random);
  const Tensors nearby = evaluate(graph, inputs, {}, {.symbols = symbols, .philox = philox}).outputs;
  const double bound = storage == DType::bf16 ? 4e-3 : 6e-4;
  for (const auto& [name, reference] : expected) {
    const double condition = testing::relative_error(nearby.at(name), reference);
    EXPECT_LE(testing::relative_error(actual.at(name), reference), std::max(bound, 2 * condition))
        << name << " of " << rows << " rows";
    EXPECT_EQ(actual.at(name).data, again.at(name).data) << name << " differs from run to run";
  }
}

}  // namespace smelt::gemm_epilogues
