// Test modules in text form with a small-M GEMM (a matmul of few rows by weights). The GEMM has a prologue
// (norms, pointwise operations) and an epilogue (biases, activations, gates). Values within the prologue and
// the epilogue may be outputs, too.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>

#include "compiler/driver/compile.h"

namespace smelt::small_m_epilogues {

/// Prologues, which compute %a from %x, %z: f32[M,k] and %g: f32[k], and epilogues, which read the result %h:
/// f32[M,n] = a w^T, %b: f32[n] and %v: f32[M,n].
inline constexpr const char* kBefore[] = {
    "  %s = add %x, %z : f32[M,{k}]\n  %a = layer_norm %s, %g, %g {{eps = 1e-5}} : f32[M,{k}]\n",
    "  %s = add %x, %z : f32[M,{k}]\n  %a = rms_norm %s, %g {{eps = 1e-5}} : f32[M,{k}]\n",
    "  %s = tanh %z : f32[M,{k}]\n  %a = mul %x, %s : f32[M,{k}]\n",
    "  %s = add %x, %z : f32[M,{k}]\n  %a = softmax %s : f32[M,{k}]\n"};
inline constexpr const char* kBehind[] = {
    "  return h = %h\n",
    "  %bb = broadcast %b {{axes = [1]}} : f32[M,{n}]\n  %u = add %h, %bb : f32[M,{n}]\n"
    "  %y = gelu %u : f32[M,{n}]\n  return y = %y, s = %s\n",
    "  %y = tanh %h : f32[M,{n}]\n  return y = %y, h = %h, s = %s, a = %a\n",
    "  %l = slice %h {{axis = 1, begin = 0}} : f32[M,{half}]\n"
    "  %r = slice %h {{axis = 1, begin = {half}}} : f32[M,{half}]\n"
    "  %t = silu %l : f32[M,{half}]\n  %y = mul %t, %r : f32[M,{half}]\n  return y = %y, s = %s\n",
    "  %y = add %h, %v : f32[M,{n}]\n  return y = %y\n",
    "  %h0 = slice %h {{axis = 1, begin = 0}} : f32[M,{fourth}]\n"
    "  %h1 = slice %h {{axis = 1, begin = {fourth}}} : f32[M,{fourth}]\n"
    "  %h2 = slice %h {{axis = 1, begin = {two_fourths}}} : f32[M,{fourth}]\n"
    "  %h3 = slice %h {{axis = 1, begin = {three_fourths}}} : f32[M,{fourth}]\n"
    "  %l = mul %h0, %h1 : f32[M,{fourth}]\n  %r = mul %h2, %h3 : f32[M,{fourth}]\n"
    "  %y = sub %l, %r : f32[M,{fourth}]\n  return y = %y, s = %s\n"};
inline constexpr int64_t kSums[] = {8, 48, 72, 272, 520, 1552}, kColumns[] = {8, 34, 96, 200, 520};

inline std::string module_text(uint64_t seed, int64_t most_rows, int64_t n, int64_t k) {
  const auto expand = [&](const char* text) {
    return fmt::format(fmt::runtime(text), fmt::arg("n", n), fmt::arg("k", k), fmt::arg("half", n / 2),
                       fmt::arg("fourth", n / 4), fmt::arg("two_fourths", n / 4 * 2),
                       fmt::arg("three_fourths", n / 4 * 3));
  };
  return expand("parameter \"w\" : f32[{n},{k}]\nparameter \"g\" : f32[{k}]\nparameter \"b\" : f32[{n}]\n")
             .insert(0, fmt::format("symbols M <= {}\n", most_rows)) +
         expand(
             "graph @main(%x: f32[M,{k}], %z: f32[M,{k}], %v: f32[M,{n}]) {{\n"
             "  %w = parameter \"w\" : f32[{n},{k}]\n  %g = parameter \"g\" : f32[{k}]\n"
             "  %b = parameter \"b\" : f32[{n}]\n") +
         expand(kBefore[seed % std::size(kBefore)]) +
         expand("  %h = matmul %a, %w {{spec = \"mk,nk->mn\"}} : f32[M,{n}]\n") +
         expand(kBehind[seed / std::size(kBefore) % std::size(kBehind)]) + "}\n";
}

inline std::string module_text(uint64_t seed, int64_t most_rows) {
  std::mt19937_64 random(seed);
  const int64_t n = kColumns[random() % std::size(kColumns)], k = kSums[random() % std::size(kSums)];
  return module_text(seed, most_rows, n, k);
}

inline CompileOptions options_of(uint64_t seed) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.storage = seed % 3 == 0 ? DType::f16 : DType::bf16;
  options.target = "sm_90";
  return options;
}

// ---- packed weights

struct PackedCase {
  WeightType type;
  int64_t group;
};
inline constexpr PackedCase kPackedCases[] = {
    {WeightType::int4, 32}, {WeightType::int4, 96}, {WeightType::uint4, 32}, {WeightType::uint4, 64},
    {WeightType::fp8, 0},   {WeightType::fp8, 16},  {WeightType::nf4, 32}};
inline constexpr int64_t kPackedSums[] = {192, 1152, 2304};
/// Factor of the error that softmax prologues before long sums may have.
inline constexpr double kPackedLooser = 1.5;

inline std::string packed_module_text(uint64_t seed, int64_t most_rows) {
  return module_text(seed, most_rows, kColumns[seed / 3 % std::size(kColumns)],
                     kPackedSums[seed % std::size(kPackedSums)]);
}

inline CompileOptions packed_options(uint64_t seed) {
  const PackedCase packed = kPackedCases[seed % std::size(kPackedCases)];
  CompileOptions options = options_of(seed);
  options.weight_type = packed.type, options.weight_group = packed.group;
  return options;
}

inline bool has_template(const std::string& kernel) { return kernel.find("small_m_") != std::string::npos; }

}  // namespace smelt::small_m_epilogues
