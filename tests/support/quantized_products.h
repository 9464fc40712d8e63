// Matmuls in f8e4m3 as quantize_matmuls writes them, with gradients, for tests on a CPU and on a GPU.
#pragma once

#include <cmath>

#include "ir/text/text.h"
#include "passes/graph/autodiff/differentiate.h"
#include "passes/graph/precision/quantize_matmuls.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt::testing {

/// Two layers whose weights have both orders of dims, a bias, and a loss; gradients of activations and
/// weights. `c` and `o`: multiples of 16, the sizes of the layers' inputs.
inline std::unique_ptr<Module> quantized_layers(int64_t c, int64_t o) {
  auto module = parse_module(fmt::format(R"(symbols B <= 4, T <= 40
parameter "w" : f32[{1},{0}]
parameter "v" : f32[{1},16]
parameter "b" : f32[{1}]
graph @loss(%x: f32[B,T,{0}]) {{
  %w = parameter "w" : f32[{1},{0}]
  %v = parameter "v" : f32[{1},16]
  %b = parameter "b" : f32[{1}]
  %y = matmul %x, %w {{spec = "btc,oc->bto"}} : f32[B,T,{1}]
  %bias = broadcast %b {{axes = [2]}} : f32[B,T,{1}]
  %s = add %y, %bias : f32[B,T,{1}]
  %h = tanh %s : f32[B,T,{1}]
  %z = matmul %h, %v {{spec = "btc,co->bto"}} : f32[B,T,16]
  %q = mul %z, %z : f32[B,T,16]
  %loss = reduce add %q {{axes = [0, 1, 2]}} : f32[]
  return loss = %loss, z = %z
}})",
                                         c, o));
  quantize_matmuls(*module, {.weights = {"*"}, .keep = {}});
  differentiate(*module->graphs.front(), {.output = "loss", .wrt = {"x", "w", "v", "b"}, .seed = 1});
  return module;
}

/// Numbers of tokens that 16 divides, and others: sums over tokens then end with zeros.
inline std::vector<SymbolValues> quantized_sizes() {
  std::vector<SymbolValues> all;
  for (const auto& [b, t] : {std::pair(1, 1), {1, 16}, {3, 5}, {2, 40}, {4, 33}})
    all.push_back({{"B", b}, {"T", t}});
  return all;
}

inline void expect_quantized_layers_match(const CompileOptions& options) {
  for (const auto& [c, o] : {std::pair(32, 48), {144, 160}})
    for (const SymbolValues& sizes : quantized_sizes()) {
      SCOPED_TRACE(fmt::format("{} x {}, {} x {}", c, o, sizes.at("B"), sizes.at("T")));
      expect_cpu_matches(*quantized_layers(c, o), {.symbols = sizes, .seed = 3}, options);
    }
}

/// Returns the signal-to-noise ratio of `found` in decibels.
inline double decibels(const std::vector<double>& found, const std::vector<double>& exact) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < exact.size(); ++i)
    signal += exact[i] * exact[i], noise += (found[i] - exact[i]) * (found[i] - exact[i]);
  return 10 * std::log10(signal / noise);
}

/// Compares results with those of the evaluator, which rounds operands of matmuls if `rounds`, by their
/// signal-to-noise ratio in decibels. In bf16, values are rounded before they are divided by their scale,
/// which the evaluator does not do. The sums of a GPU's library are about 1e-4 of the largest off, which
/// moves some elements of what follows to the next number.
inline void expect_quantized_layers_are_near(const CompileOptions& options, bool rounds, double least) {
  const auto module = quantized_layers(144, 160);
  const auto primitive = module->clone();
  decompose(*primitive->graphs.front(), {});
  for (const SymbolValues& sizes : quantized_sizes()) {
    SCOPED_TRACE(fmt::format("{} x {}", sizes.at("B"), sizes.at("T")));
    Tensors inputs = random_inputs(*module->graphs.front(), 3, sizes),
            states = random_states(*module->graphs.front(), 3, sizes);
    round_to_type(inputs), round_to_type(states);
    const Evaluation exact = evaluate(*primitive->graphs.front(), inputs, states,
                                      {.symbols = sizes, .philox = {}, .round = rounds});
    const Tensors found = run_on_cpu(*module, {.symbols = sizes, .seed = 3}, inputs, states, options);
    for (const auto& [name, value] : exact.outputs)
      EXPECT_GE(decibels(found.at(name).data, value.data), least) << name;
  }
}

}  // namespace smelt::testing
