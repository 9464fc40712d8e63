// Test modules in text form: a matmul with an epilogue. The modules cover all operand layouts, sizes from
// less than a tile to several tiles, sizes that are not multiples of a vector, column sums, random numbers
// and random pointwise operations.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace smelt::gemm_epilogues {

inline constexpr int64_t kHeights[] = {1, 63, 129, 197, 300, 517},
                         kColumns[] = {3, 8, 72, 128, 200, 333, 776}, kDepths[] = {3, 8, 64, 72, 200, 777};

template <typename T, size_t N>
T one_of(const T (&list)[N], std::mt19937_64& random) {
  return list[random() % N];
}

/// Epilogues of %h: f32[M,n], the result of the matmul. They read %bb, the bias %b: f32[n] broadcast to the
/// shape of %h, and the matrix %z: f32[M,n].
inline constexpr const char* kBodies[] = {
    "  %s = add %h, %bb : f32[M,{n}]\n  %y = gelu %s : f32[M,{n}]\n  return y = %y\n",
    "  %s = add %h, %bb : f32[M,{n}]\n  %y = mul %s, %z : f32[M,{n}]\n  return y = %y, h = %h\n",
    "  %s = add %h, %bb : f32[M,{n}]\n  %y = mul %s, %z : f32[M,{n}]\n"
    "  %c = reduce add %y {{axes = [0]}} : f32[{n}]\n  %d = reduce add %s {{axes = [0]}} : f32[{n}]\n"
    "  return y = %y, c = %c, d = %d\n",
    "  %s = mul %h, %z : f32[M,{n}]\n  %y = dropout %s {{p = 0.1, id = 0}} : f32[M,{n}]\n  return y = %y\n"};

/// Returns the body of an epilogue of two to seven random pointwise operations on %h, %bb and %z. Some of
/// them are also summed over the rows, and the matmul's result may be an output too. All are continuous, so
/// that a rounding error stays one.
inline std::string random_body(std::mt19937_64& random) {
  constexpr const char *kOne[] = {"tanh", "sigmoid", "neg", "abs", "erf", "gelu", "silu"},
                       *kTwo[] = {"add", "sub", "mul", "max", "min"};
  std::vector<std::string> values = {"%h", "%bb", "%z"};
  std::string text, results;
  const uint64_t count = 2 + random() % 6;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string last = i == 0 ? "%h" : values.back(),
                      other = values[i == 0 ? 1 + random() % 2 : random() % values.size()];
    const bool two = random() % 3 != 0;
    values.push_back(fmt::format("%v{}", i));
    text += fmt::format("  {} = {} {}{} : f32[M,{{n}}]\n", values.back(),
                        two ? one_of(kTwo, random) : one_of(kOne, random), last, two ? ", " + other : "");
    if (random() % 4 != 0) continue;
    text += fmt::format("  %c{} = reduce add {} {{{{axes = [0]}}}} : f32[{{n}}]\n", i, values.back());
    results += fmt::format(", c{0} = %c{0}", i);
  }
  if (random() % 4 == 0) results += ", h = %h";
  return fmt::format("{}  return y = {}{}\n", text, values.back(), results);
}

inline std::string module_text(uint64_t seed) {
  std::mt19937_64 random(seed);
  const int64_t n = one_of(kColumns, random), k = one_of(kDepths, random);
  const bool a_turned = seed % 2 != 0, b_turned = seed / 2 % 2 != 0;
  std::string text = fmt::format(
      "symbols M <= 517\nrandom_ids 1\ngraph @main(%a: f32[{}], %w: f32[{}], %b: f32[{n}], %z: f32[M,{n}]) "
      "{{\n"
      "  %h = matmul %a, %w {{spec = \"{},{}->mn\"}} : f32[M,{n}]\n"
      "  %bb = broadcast %b {{axes = [1]}} : f32[M,{n}]\n",
      a_turned ? fmt::format("{},M", k) : fmt::format("M,{}", k),
      b_turned ? fmt::format("{},{}", k, n) : fmt::format("{},{}", n, k), a_turned ? "km" : "mk",
      b_turned ? "kn" : "nk", fmt::arg("n", n));
  const std::string body = seed < 32 ? kBodies[seed / 4 % 4] : random_body(random);
  text += fmt::format(fmt::runtime(body), fmt::arg("n", n));
  return text + "}\n";
}

/// The shape of keys, and the specification of their product with queries of [2,M,3,40].
struct Heads {
  const char *keys, *spec;
};
/// Each head has its keys, or all heads share them.
inline constexpr Heads kHeads[] = {{"2,72,3,40", "bmhd,bnhd->bhmn"}, {"2,72,40", "bmhd,bnd->bhmn"}};

/// Scores of heads, and a kernel that scales them.
inline std::string heads_text(const Heads& heads) {
  return fmt::format(R"(symbols M <= 150
graph @main(%q: f32[2,M,3,40], %k: f32[{}], %z: f32[M,72]) {{
  %s = matmul %q, %k {{spec = "{}"}} : f32[2,3,M,72]
  %b = broadcast %z {{axes = [2, 3]}} : f32[2,3,M,72]
  %t = mul %s, %b : f32[2,3,M,72]
  %y = gelu %t : f32[2,3,M,72]
  return y = %y
}}
)",
                     heads.keys, heads.spec);
}

inline CompileOptions options_of(uint64_t seed) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.gemm_epilogues = seed / 16 % 2 == 0 ? GemmEpilogues::only : GemmEpilogues::wide;
  options.storage = seed % 3 == 0 ? DType::f16 : DType::bf16;
  return options;
}

/// Returns options that take the template for sm_80 and later.
inline CompileOptions mma_options_of(uint64_t seed) {
  CompileOptions options = options_of(seed);
  const bool wide = options.gemm_epilogues == GemmEpilogues::wide;
  options.gemm_epilogues = wide ? GemmEpilogues::mma_wide : GemmEpilogues::mma;
  return options;
}

inline bool has_template(const KernelCode& kernel) { return kernel.name.find("gemm_") != std::string::npos; }

}  // namespace smelt::gemm_epilogues
