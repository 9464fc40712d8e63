// The kernels of attention for sm_90a compile to code that needs registers alone and multiplies
// asynchronously.
#include "codegen/cuda/attention/attention_wgmma.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/cuda/nvrtc.h"

namespace smelt::test {
namespace {

struct Body {
  const char* name;
  const char* tile;      // body_tile's last statements
  const char* modified;  // of a score that is not masked
  const char* seen;      // whether it is
  const char* derivative = "1.0f";
  bool plain = true;
};

constexpr const char* kCausalTile = "return t1 <= s0 ? 0 : t0 >= s1 - 1 ? 2 : 1;";
constexpr Body kBodies[] = {
    {"none", "return 2;", "score", "true"},
    {"causal", kCausalTile, "score", "t >= s"},
    {"window", "return t1 <= s0 || t0 - s1 >= a.window ? 0 : 1;", "score", "t >= s && t - s < a.window"},
    {"cap", kCausalTile, "a.cap * bend(score / a.cap)", "t >= s",
     "1.0f - bend(score / a.cap) * bend(score / a.cap)", false},
};

AttentionHooks hooks_of(const Body& body, bool dropout) {
  AttentionHooks hooks;
  hooks.draws = dropout, hooks.has_factor = dropout, hooks.plain_when_unmasked = body.plain;
  if (dropout) hooks.kept = KeptDraws{.factor = 1.25, .from = 6553};
  hooks.text = fmt::format(
      R"(struct BodyArguments {{ float cap; int window; unsigned seed; }};
SM float bend(float x) {{
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}}
constexpr bool kLooksUp = false;
struct QueryNumbers {{}};
struct KeyNumbers {{}};
template <bool> SM QueryNumbers body_queries(const BodyArguments& a, int b, int h, int t0, int t1) {{ return {{}}; }}
template <bool> SM KeyNumbers body_keys(const BodyArguments& a, int b, int h, int s0, int s1) {{ return {{}}; }}
SM int body_tile(const BodyArguments& a, int b, int h, int t0, int t1, int s0, int s1, QueryNumbers, KeyNumbers) {{
  {0}
}}
SM void body_draw(const BodyArguments& a, int op, long long row, int column8, unsigned (&words)[4]) {{
  unsigned c[4] = {{1, 2, (unsigned)row, (unsigned)column8}}, key = a.seed;
#pragma unroll
  for (int round = 0; round < 7; ++round) {{
    const unsigned long long p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
    c[0] = (unsigned)(p1 >> 32) ^ c[1] ^ key, c[2] = (unsigned)(p0 >> 32) ^ c[3] ^ key;
    c[1] = (unsigned)p1, c[3] = (unsigned)p0, key += 0x9E3779B9u;
  }}
#pragma unroll
  for (int w = 0; w < 4; ++w) words[w] = c[w];
}}
template <bool kUnmasked>
SM void body_forward(const BodyArguments& a, int b, int h, int t, int s, const unsigned* draws, float score,
                     float& modified, float& factor) {{
  modified = kUnmasked || ({1}) ? {2} : -__int_as_float(0x7f800000);
  factor = {3};
}}
template <bool kUnmasked>
SM void body_backward(const BodyArguments& a, int b, int h, int t, int s, const unsigned* draws, float score,
                      float weight, float product, float delta, float& mixed, float& dscore, float* gradients) {{
  const float factor = {3};
  mixed = weight * factor, dscore = weight * (product * factor - delta) * ({4});
}}
)",
      body.tile, body.seen, body.modified, dropout ? "draws[0] >= 6553u ? 1.25f : 0.0f" : "1.0f",
      body.derivative);
  return hooks;
}

constexpr const char* kMaps =
    "const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k, const __grid_constant__ "
    "TensorMap v";

CudaSource forward_of(const WgmmaAttention& attention) {
  return {
      attention_forward_wgmma(attention).text +
          fmt::format("extern \"C\" __global__ void __launch_bounds__(kThreads, kBlocks) forward({}, Half* "
                      "o, Half* rest, float* lse, unsigned* counters, long long n, float scale, "
                      "BodyArguments body) {{\n  attention(q, k, v, o, rest, lse, counters, n, n, n, n, n, "
                      "n, n, n, n, n, n, scale, body);\n}}\n",
                      kMaps),
      "forward", 90};
}
CudaSource backward_of(const WgmmaAttention& attention) {
  return {attention_backward_wgmma(attention).text +
              fmt::format(
                  "extern \"C\" __global__ void __launch_bounds__(kThreads, kBlocks) backward({}, const "
                  "__grid_constant__ TensorMap d_o, const float* lse, const float* delta, Half* dk, Half* "
                  "dv, float* sums, unsigned* counters, long long n, float scale, BodyArguments body) {{\n"
                  "  attention(q, k, v, d_o, lse, delta, dk, dv, sums, counters, n, n, n, n, n, n, n, n, "
                  "n, n, n, scale, body);\n}}\n",
                  kMaps),
          "backward", 90};
}
CudaSource query_gradient_of(const WgmmaAttention& attention) {
  return {
      attention_query_gradient_wgmma(attention).text +
          "extern \"C\" __global__ void __launch_bounds__(kThreads) query_gradient(const float* sums, Half* "
          "dq, unsigned* counters, long long n, float scale) {\n"
          "  attention(sums, dq, counters, n, n, n, n, n, scale);\n}\n",
      "query_gradient", 90};
}

/// The code of a kernel, or where that needs memory for registers, of a lighter one.
struct Candidate {
  std::string name;
  CudaSource source;
  std::optional<CudaSource> lighter = {};
};

CudaResources resources_of(const CudaSource& source) {
  return compile_cuda(std::vector{source}, 90)[0].resources;
}

/// It must neither spill nor wait for each product.
void expect_lean(const std::vector<Candidate>& candidates) {
  std::vector<CudaSource> sources;
  for (const Candidate& candidate : candidates) sources.push_back(candidate.source);
  const std::vector<Cubin> code = compile_cuda(sources, 90);
  for (size_t i = 0; i < code.size(); ++i) {
    CudaResources r = code[i].resources;
    if (!is_lean(r) && candidates[i].lighter) r = resources_of(*candidates[i].lighter);
    EXPECT_TRUE(is_lean(r)) << sources[i].name << ' ' << candidates[i].name << ": stack " << r.stack_bytes
                            << ", spilled " << r.spill_bytes << ", products waited for " << r.serial_products;
  }
}

class AttentionWgmma : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  }
  void add(const WgmmaAttention& attention, const std::string& name) {
    WgmmaAttention one = attention;
    if (const auto tiles = forward_wgmma_tiles(attention.head_size, attention.hooks)) {
      one.tiles = *tiles;
      candidates_.push_back({name, forward_of(one)});
      EXPECT_LE(attention_forward_wgmma(one).shared_bytes, kMostShared) << name;
    }
    if (const auto tiles = backward_wgmma_tiles(attention.head_size, attention.hooks)) {
      one.tiles = *tiles;
      candidates_.push_back({name, backward_of(one)});
      EXPECT_LE(attention_backward_wgmma(one).shared_bytes, kMostShared) << name;
      if (const auto lighter = lighter_backward_wgmma_tiles(*tiles)) {
        one.tiles = *lighter;
        candidates_.back().lighter = backward_of(one);
      }
      candidates_.push_back({name, query_gradient_of(one)});
    }
  }
  static constexpr int kMostShared = 227 << 10;
  std::vector<Candidate> candidates_;
};

TEST_F(AttentionWgmma, EveryHeadSizeIsLean) {
  DType dtype = DType::bf16;
  for (const int head_size : {8, 40, 64, 96, 128, 192, 256}) {
    dtype = dtype == DType::bf16 ? DType::f16 : DType::bf16;
    add({.dtype = dtype,
         .head_size = head_size,
         .hooks = hooks_of(kBodies[1], head_size == 40),
         .has_rest = true},
        fmt::format("heads of {}", head_size));
  }
  expect_lean(candidates_);
}

TEST_F(AttentionWgmma, EveryBodyIsLean) {
  for (const Body& body : kBodies)
    for (const bool dropout : {false, true})
      for (const int head_size : {64, 128})
        add({.head_size = head_size, .hooks = hooks_of(body, dropout)},
            fmt::format("{}{}, heads of {}", body.name, dropout ? " with dropout" : "", head_size));
  expect_lean(candidates_);
}

TEST(AttentionWgmmaTiles, LeaveOutWhatIsNotCopiedInWholePieces) {
  EXPECT_FALSE(forward_wgmma_tiles(65, {}));
  EXPECT_FALSE(forward_wgmma_tiles(264, {}));
  EXPECT_FALSE(backward_wgmma_tiles(136, {})) << "gradients of wider heads do not fit into registers";
  EXPECT_TRUE(backward_wgmma_tiles(120, {}));
}

TEST(AttentionWgmmaTiles, LeaveOutBodiesThatNeedMore) {
  const AttentionHooks dropout = hooks_of(kBodies[0], true);
  EXPECT_TRUE(forward_wgmma_tiles(64, dropout));
  AttentionHooks hooks = dropout;
  hooks.row_gradients = 1;
  EXPECT_FALSE(backward_wgmma_tiles(64, hooks));
  hooks = dropout, hooks.draws_in_score = true;
  EXPECT_FALSE(forward_wgmma_tiles(64, hooks));
  hooks = hooks_of(kBodies[0], false), hooks.has_factor = true;
  EXPECT_FALSE(forward_wgmma_tiles(64, hooks)) << "a factor that is not drawn";
}

}  // namespace
}  // namespace smelt::test
