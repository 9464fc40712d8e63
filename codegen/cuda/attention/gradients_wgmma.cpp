#include "codegen/cuda/attention/pieces_wgmma.h"

namespace smelt::wgmma {

/// Accumulators are transposed here: a thread holds two keys, and two queries of each 8.
const std::string_view kGradients = R"(
// Scores are taken 64 queries at a time; their gradients are multiplied together.
constexpr int kParts = kQueries / 64, kPartStep = 64 * 128 >> 4;
static_assert(kParts <= 2);

// Which elements are kept, in the accumulators' order: bit 4 g + e for element e of column group g. Eight keys are eight
// lanes: each draws for one column group, and hands the others theirs.
SM unsigned draw_word(const BodyArguments& body, long long row, int key) {
  const int lane = threadIdx.x & 31;
  unsigned word = 0;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    const auto place = [c](int i) { return 4 * i + c; };
    word |= draw_eight(body, row + 8 * (lane >> 2) + 2 * (lane & 3) + (c & 1), (key >> 3) + (c >> 1), place);
  }
  unsigned other = __shfl_xor_sync(0xFFFFFFFFu, word, 4);
  word = lane & 4 ? (other >> 4 & 0x0F0F0F0F) | (word & 0xF0F0F0F0) : (word & 0x0F0F0F0F) | (other & 0x0F0F0F0F) << 4;
  other = __shfl_xor_sync(0xFFFFFFFFu, word, 8);
  word = lane & 8 ? __byte_perm(word, other, 0x3715) : __byte_perm(word, other, 0x6240);
  other = __shfl_xor_sync(0xFFFFFFFFu, word, 16);
  return lane & 16 ? __byte_perm(word, other, 0x3276) : __byte_perm(word, other, 0x5410);
}
SM void draw(unsigned (&kept)[kParts], const BodyArguments& body, long long row, int key) {
  if (kDraws == 0) return;
#pragma unroll
  for (int w = 0; w < kParts; ++w) kept[w] = draw_word(body, row + 64 * w, key);
}
SM bool is_kept(unsigned kept, int g, int e) { return kept >> (4 * g + e) & 1; }
struct Pair {
  float x, y;
};
SM Pair load_pair(unsigned from) {
  Pair v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(from) : "memory");
  return v;
}

// Where a thread's accumulators lie, and what its elements are made of.
struct Place {
  int b, h, t, queries, key, keys;
  unsigned rows;  // in shared memory, of the lane's queries: LSE as base-2 logarithm, and delta behind
  float scale, factor;
};
// How a tile is taken: scores as they are, by the body without its masks, or by all of it.
enum class Taken { plain, unmasked, masked };

template <Taken taken>
SM float weight_of(float score, const BodyArguments& body, const Place& place, int g, int e, float lse) {
  if (taken == Taken::plain) return exp2_fast(fmaf(score, place.scale * kLog2e, -lse));
  constexpr bool kUnmasked = taken == Taken::unmasked;
  const int t = place.t + 8 * g + (e & 1), key = place.key + 8 * (e >> 1);
  const float modified = modified_of<kUnmasked>(body, place.b, place.h, min(t, place.queries - 1),
                                                kUnmasked ? key : min(key, place.keys - 1), score * place.scale);
  return exp2_fast(fmaf(kUnmasked || key < place.keys ? modified : -infinity(), kLog2e, -lse));
}

// Scores become weights, unless the body's derivative needs them again; p is what multiplies dO.
template <Taken taken>
SM void weigh(float (&s)[32], unsigned (&p)[16], unsigned kept,
              const BodyArguments& body, const Place& place) {
#pragma unroll
  for (int g = 0; g < 8; ++g) {
    const Pair lse = load_pair(place.rows + 32 * g);
    float w[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      w[e] = weight_of<taken>(s[4 * g + e], body, place, g, e, e & 1 ? lse.y : lse.x);
      if (kPlainWhenUnmasked) s[4 * g + e] = w[e];
      if (kScaled) w[e] = is_kept(kept, g, e) ? w[e] : 0.0f;
      else if (kHasFactor) w[e] *= is_kept(kept, g, e) ? place.factor : 0.0f;
    }
    p[2 * g] = pack(w[0], w[1]), p[2 * g + 1] = pack(w[2], w[3]);
  }
}
// The gradients of the scores go to shared memory: 128-byte rows of 64 queries, permuted like the tiles. `to` is
// where the lane's row of the warp's keys begins. Where scores are plain or not seen, weights are enough.
template <Taken taken>
SM void differentiate(const float (&s)[32], const float (&products)[32],
                      unsigned kept, const BodyArguments& body, const Place& place, unsigned to) {
  const int lane = threadIdx.x & 31;
  unsigned p[4];
#pragma unroll
  for (int g = 0; g < 8; ++g) {
    const Pair delta = load_pair(place.rows + 4 * kQueries + 32 * g);
    const Pair lse = kPlainWhenUnmasked ? delta : load_pair(place.rows + 32 * g);
    float d[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float product = products[4 * g + e], x = s[4 * g + e], minus = e & 1 ? delta.y : delta.x;
      const bool keep = !kHasFactor || is_kept(kept, g, e);
      if (kPlainWhenUnmasked) {
        d[e] = x * ((keep ? product : 0.0f) - minus);
      } else {
        unsigned draws[kOps];
#pragma unroll
        for (int op = 0; op < kOps; ++op) draws[op] = keep ? kept_draw(body) : kept_draw(body) ^ 0xFFFFu;
        const int t = min(place.t + 8 * g + (e & 1), place.queries - 1), key = min(place.key + 8 * (e >> 1), place.keys - 1);
        const float weight = weight_of<taken>(x, body, place, g, e, e & 1 ? lse.y : lse.x);
        float mixed, none[1];
        body_backward<taken == Taken::unmasked>(body, place.b, place.h, t, key, draws, x * place.scale, weight, product,
                                                minus, mixed, d[e], none);
      }
    }
    p[2 * (g & 1)] = pack(d[0], d[1]), p[2 * (g & 1) + 1] = pack(d[2], d[3]);
    const int piece = (g & ~1) + (lane >> 4);
    if (g & 1)
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       to + (((piece ^ lane) & 7) << 4)),
                   "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]) : "memory");
  }
}
SM void weigh_tile(float (&s)[32], unsigned (&p)[16], unsigned kept,
                   const BodyArguments& body, const Place& place, bool unmasked) {
  if (!unmasked) weigh<Taken::masked>(s, p, kept, body, place);
  else weigh<kPlainWhenUnmasked ? Taken::plain : Taken::unmasked>(s, p, kept, body, place);
}
SM void differentiate_tile(const float (&s)[32], const float (&products)[32],
                           unsigned kept, const BodyArguments& body, const Place& place, bool unmasked,
                           unsigned to) {
  if (kPlainWhenUnmasked) differentiate<Taken::plain>(s, products, kept, body, place, to);
  else if (unmasked) differentiate<Taken::unmasked>(s, products, kept, body, place, to);
  else differentiate<Taken::masked>(s, products, kept, body, place, to);
}
)";

}  // namespace smelt::wgmma
