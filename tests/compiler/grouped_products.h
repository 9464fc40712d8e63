// Test of matmuls as in grouped-query attention, where several query heads share a key head: the einsum
// letter g, which numbers the query heads of one key head, is in one operand and in the result, but not in
// the operand that has the keys or values.
#pragma once

#include "passes/graph/autodiff/differentiate.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt::testing {

constexpr int64_t kGroupedBatch = 3, kGroupedQueries = 40, kGroupedKeys = 48;

/// Returns a graph of grouped-query attention with six key heads of width 8 and three query heads per key
/// head, and its gradients with respect to all inputs. Matmuls have operands and results of `dtype`.
inline std::unique_ptr<Module> grouped_products(DType dtype) {
  auto module = parse_module(fmt::format(R"(symbols B <= {0}, T <= {1}, S <= {2}
graph @main(%x: f32[B,T,6,3,8], %y: f32[B,S,6,8], %v: f32[B,S,6,8]) {{
  %tx = tanh %x : f32[B,T,6,3,8]
  %q = convert %tx : {3}[B,T,6,3,8]
  %ty = tanh %y : f32[B,S,6,8]
  %k = convert %ty : {3}[B,S,6,8]
  %scores = matmul %q, %k "scores" {{spec = "btkgd,bskd->bkgts"}} : {3}[B,6,3,T,S]
  %wide = convert %scores : f32[B,6,3,T,S]
  %soft = softmax %wide : f32[B,6,3,T,S]
  %p = convert %soft : {3}[B,6,3,T,S]
  %tv = sigmoid %v : f32[B,S,6,8]
  %w = convert %tv : {3}[B,S,6,8]
  %narrow = matmul %p, %w "mix" {{spec = "bkgts,bskd->btkgd"}} : {3}[B,T,6,3,8]
  %mix = convert %narrow : f32[B,T,6,3,8]
  %square = mul %mix, %mix : f32[B,T,6,3,8]
  %loss = reduce add %square {{axes = [0, 1, 2, 3, 4]}} : f32[]
  return mix = %mix, loss = %loss
}})",
                                         kGroupedBatch, kGroupedQueries, kGroupedKeys, name(dtype)));
  differentiate(*module->graphs.front(), {.output = "loss", .wrt = {"x", "y", "v"}});
  return module;
}

inline void expect_grouped_products(DType dtype, const CompileOptions& options = {}) {
  const auto module = grouped_products(dtype);
  for (const auto& [b, t, s] : {std::tuple<int64_t, int64_t, int64_t>{3, 40, 48}, {1, 1, 1}, {2, 7, 31}})
    expect_cpu_matches(*module, {.symbols = {{"B", b}, {"T", t}, {"S", s}}, .seed = 5}, options);
}

}  // namespace smelt::testing
