// Matmuls of bytes with an epilogue, which reads their sums as i32: modules in text form, and their
// comparison with the float64 evaluator.
#pragma once

#include <cmath>

#include "tests/support/gemm_epilogues_run.h"

namespace smelt::gemm_epilogues {

inline constexpr int64_t kByteDepths[] = {16, 32, 48, 64, 144, 208, 784};

/// As module_text, of operands that are bytes. Those of a matmul by bytes have to be contiguous along k.
inline std::string byte_module_text(uint64_t seed) {
  std::mt19937_64 random(seed);
  const int64_t n = one_of(kColumns, random), k = one_of(kByteDepths, random);
  std::string text = fmt::format(
      "symbols M <= 517\nrandom_ids 1\ngraph @main(%a: f32[M,{k}], %w: f32[{n},{k}], %b: f32[{n}], %z: "
      "f32[M,{n}]) {{\n"
      "  %x = convert %a : i8[M,{k}]\n  %v = convert %w : i8[{n},{k}]\n"
      "  %p = matmul {} {{spec = \"{}->{}\"}} : i32[{}]\n",
      seed % 5 == 4 ? "%v, %x" : "%x, %v", seed % 5 == 4 ? "nk,mk" : "mk,nk", "mn", fmt::format("M,{}", n),
      fmt::arg("n", n), fmt::arg("k", k));
  text += fmt::format(
      "  %f = convert %p : f32[M,{n}]\n  %step = constant {{value = 3e-05}} : f32[M,{n}]\n"
      "  %h = mul %f, %step : f32[M,{n}]\n  %bb = broadcast %b {{axes = [1]}} : f32[M,{n}]\n",
      fmt::arg("n", n));
  const std::string body = seed < 32 ? kBodies[seed / 4 % 4] : random_body(random);
  text += fmt::format(fmt::runtime(body), fmt::arg("n", n));
  return text + "}\n";
}

inline CompileOptions byte_options_of(uint64_t seed) {
  CompileOptions options = mma_options_of(seed);
  options.storage = DType::f32;
  return options;
}

/// Makes whole numbers of a byte of the operands.
inline void make_bytes(Tensors& inputs) {
  for (const char* name : {"a", "w"})
    for (double& x : inputs.at(name).data) x = std::trunc(std::fmod(100 * x, 128));
}

/// Expects the evaluator's results within the error of f32, and the same bits from two runs.
inline void expect_right_of_bytes(const Module& module, Session& session, int64_t rows, uint64_t seed) {
  constexpr double kBound = 1e-5, kNearby = 1e-6;
  const Philox philox{.seed = 7, .step = 3, .micro_step = 0};
  const SymbolValues symbols = {{"M", rows}};
  std::unique_ptr<Module> primitive = module.clone();
  Graph& graph = *primitive->graphs.front();
  decompose(graph, {});
  Tensors inputs = testing::random_inputs(graph, seed, symbols);
  make_bytes(inputs);
  const Tensors expected = evaluate(graph, inputs, {}, {.symbols = symbols, .philox = philox}).outputs;
  const Tensors actual = testing::run_entry(session, "main", philox, inputs),
                again = testing::run_entry(session, "main", philox, inputs);
  std::mt19937_64 random(seed);
  Tensors nearby_inputs = inputs;
  perturb(nearby_inputs, kNearby, random);
  nearby_inputs.at("a") = inputs.at("a"), nearby_inputs.at("w") = inputs.at("w");
  const Tensors nearby = evaluate(graph, nearby_inputs, {}, {.symbols = symbols, .philox = philox}).outputs;
  for (const auto& [name, reference] : expected) {
    const double condition = testing::relative_error(nearby.at(name), reference);
    EXPECT_LE(testing::relative_error(actual.at(name), reference), std::max(kBound, condition))
        << name << " of " << rows << " rows";
    EXPECT_EQ(actual.at(name).data, again.at(name).data) << name << " differs from run to run";
  }
}

}  // namespace smelt::gemm_epilogues
