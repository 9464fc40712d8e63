// Matmuls of i8 and layers of quantisation-aware training, for tests on a CPU and on a GPU.
#pragma once

#include <cmath>

#include "ir/text/text.h"
#include "passes/graph/autodiff/differentiate.h"
#include "passes/graph/precision/quantize_activations.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt::testing {

/// Two layers that are quantized, of which the second reads `o` numbers, and a head that is not. Weights are
/// parameters; the loss has gradients for all of them.
inline std::unique_ptr<Module> rounded_layers(int64_t c, int64_t o) {
  return parse_module(fmt::format(R"(symbols 0 <= B <= 4, T <= 40
parameter "w.weight" : f32[{1},{0}]
parameter "v.weight" : f32[16,{1}]
parameter "head" : f32[7,16]
parameter "b" : f32[{1}]
graph @loss(%x: f32[B,T,{0}]) {{
  %w = parameter "w.weight" : f32[{1},{0}]
  %v = parameter "v.weight" : f32[16,{1}]
  %k = parameter "head" : f32[7,16]
  %b = parameter "b" : f32[{1}]
  %y = matmul %x, %w {{spec = "btc,oc->bto"}} : f32[B,T,{1}]
  %bias = broadcast %b {{axes = [2]}} : f32[B,T,{1}]
  %s = add %y, %bias : f32[B,T,{1}]
  %h = tanh %s : f32[B,T,{1}]
  %z = matmul %v, %h {{spec = "co,bto->btc"}} : f32[B,T,16]
  %l = matmul %z, %k {{spec = "btc,vc->btv"}} : f32[B,T,7]
  %q = mul %l, %l : f32[B,T,7]
  %loss_sum = reduce add %q {{axes = [0, 1, 2]}} : f32[]
  %token_count = constant {{value = 1}} : f32[]
  return loss_sum = %loss_sum, token_count = %token_count, y = %z
}})",
                                  c, o));
}

inline std::vector<SymbolValues> rounded_sizes() {
  std::vector<SymbolValues> all;
  for (const auto& [b, t] : {std::pair(1, 1), {3, 5}, {2, 40}, {4, 33}, {0, 7}})
    all.push_back({{"B", b}, {"T", t}});
  return all;
}

/// Bounds that clip some numbers, but not most.
inline Tensors states_of_layers(const Graph& graph) {
  Tensors states = random_states(graph, 3, {});
  states.at("w.input_bound").data = {1.25}, states.at("v.input_bound").data = {0.75};
  return states;
}

/// Compares sums of products of bytes, which are whole numbers, to the last one.
inline void expect_exact_byte_products(const CompileOptions& options, int64_t n, int64_t k) {
  const auto module = parse_module(fmt::format(R"(symbols 0 <= B <= 300
graph @g(%x: f32[B,{1}], %w: f32[{0},{1}]) {{
  %a = convert %x : i8[B,{1}]
  %b = convert %w : i8[{0},{1}]
  %y = matmul %a, %b {{spec = "bc,oc->bo"}} : i32[B,{0}]
  return y = %y
}})",
                                               n, k));
  for (const int64_t rows : {0, 1, 5, 64, 300}) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", rows, n, k));
    const Graph& graph = *module->graphs.front();
    const SymbolValues sizes{{"B", rows}};
    Tensors inputs = random_inputs(graph, 3, sizes);
    for (auto& [name, tensor] : inputs)
      for (double& x : tensor.data) x = std::trunc(std::fmod(100 * x, 128));
    const Tensors expected =
        evaluate(graph, inputs, {}, {.symbols = sizes, .philox = {}, .round = true}).outputs;
    const Tensors found = run_on_cpu(*module, {.symbols = sizes, .seed = 3}, inputs, {}, options);
    EXPECT_EQ(found.at("y").data, expected.at("y").data);
  }
}

}  // namespace smelt::testing
