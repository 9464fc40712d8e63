// Weights of a tile of the backward kernel, and their gradients.
// Accumulators are transposed here: a thread holds two keys, and two queries of each 8.
// Requires: backward_tiles.cuh.


// Scores are taken 64 queries at a time; their gradients are multiplied together.
constexpr int kParts = kQueries / 64, kPartStep = 64 * 128 >> 4;
static_assert(kParts <= 2);

// Which elements are kept: element e of column group g is bit 4 * (g / 2) + e, 16 bits further up where g is odd. Eight keys
// are eight lanes: each draws for one column group, and hands the others theirs.
SM unsigned draw_word(const BodyArguments& body, long long row, int key) {
  const int lane = threadIdx.x & 31;
  unsigned word = 0;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    unsigned words[4];
    body_draw(body, 0, row + 8 * (lane >> 2) + 2 * (lane & 3) + (c & 1), (key >> 3) + (c >> 1), words);
#pragma unroll
    for (int i = 0; i < 4; ++i) word |= kept_of(words[i]) >> (15 - 4 * i - c) & 0x10001u << (4 * i + c);
  }
  unsigned other = __shfl_xor_sync(0xFFFFFFFFu, word, 4);
  word = lane & 4 ? __byte_perm(word, other, 0x3276) : __byte_perm(word, other, 0x5410);
  other = __shfl_xor_sync(0xFFFFFFFFu, word, 8);
  word = lane & 8 ? (other >> 4 & 0x0F0F0F0F) | (word & 0xF0F0F0F0) : (word & 0x0F0F0F0F) | (other & 0x0F0F0F0F) << 4;
  other = __shfl_xor_sync(0xFFFFFFFFu, word, 16);
  return lane & 16 ? __byte_perm(word, other, 0x3715) : __byte_perm(word, other, 0x6240);
}
SM void draw(unsigned (&kept)[kParts], const BodyArguments& body, long long row, int key) {
  if (kDraws == 0) return;
#pragma unroll
  for (int w = 0; w < kParts; ++w) kept[w] = draw_word(body, row + 64 * w, key);
}
SM bool is_kept(unsigned kept, int g, int e) { return kept >> (4 * (g >> 1) + 16 * (g & 1) + e) & 1; }
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
  float scale;
};
// How a tile is taken: scores as they are, by the body without its masks, or by all of it.
enum class Taken { plain, unmasked, masked };

// What the body makes of a gradient of 1: the derivative of the modified score.
SM float slope_of(const BodyArguments& body, int b, int h, int t, int key, float score) {
  const unsigned draws[kOps] = {};
  float mixed, slope, others[kElementGradients + 1];
  body_backward<true>(body, b, h, t, key, draws, score, 1.0f, 0.0f, -1.0f, mixed, slope, others);
  return slope;
}

// An element's weight; its product becomes the weight times the derivative of the modified score.
template <Taken taken>
SM float weigh_one(float& product, const BodyArguments& body, const Place& place, int g, int e, float lse) {
  if (taken == Taken::plain) return product = exp2_fast(fmaf(product, place.scale * kLog2e, -lse));
  constexpr bool kUnmasked = taken == Taken::unmasked;
  const int key = place.key + 8 * (e >> 1), t = min(place.t + 8 * g + (e & 1), place.queries - 1);
  const int at = kUnmasked ? key : min(key, place.keys - 1);
  const float score = product * place.scale, modified = modified_of<kUnmasked>(body, place.b, place.h, t, at, score);
  const float weight = exp2_fast(fmaf(kUnmasked || key < place.keys ? modified : -infinity(), kLog2e, -lse));
  if (kPlainWhenUnmasked) product = weight;
  else product = weight > 0.0f ? weight * slope_of(body, place.b, place.h, t, at, score) : 0.0f;
  return weight;
}

// Products of queries and keys become what multiplies the gradients of weights; p is what multiplies dO. Weights come with
// the factor of those that are kept.
template <Taken taken>
SM void weigh(float (&s)[32], unsigned (&p)[16], unsigned kept, const BodyArguments& body, const Place& place) {
#pragma unroll
  for (int g = 0; g < 8; ++g) {
    const Pair lse = load_pair(place.rows + 32 * g);
    float w[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      w[e] = weigh_one<taken>(s[4 * g + e], body, place, g, e, e & 1 ? lse.y : lse.x);
      if (kHasFactor) w[e] = is_kept(kept, g, e) ? w[e] : 0.0f;
    }
    p[2 * g] = pack(w[0], w[1]), p[2 * g + 1] = pack(w[2], w[3]);
  }
}
// The gradients of the scores go to shared memory: 128-byte rows of 64 queries, permuted like the tiles. `to` is
// where the lane's row of the warp's keys begins. `products` are those of dO and values.
SM void differentiate(const float (&s)[32], const float (&products)[32], unsigned kept, const Place& place, unsigned to) {
  const int lane = threadIdx.x & 31;
  unsigned p[4];
#pragma unroll
  for (int g = 0; g < 8; ++g) {
    const Pair delta = load_pair(place.rows + 4 * kQueries + 32 * g);
    float d[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const bool keep = !kHasFactor || is_kept(kept, g, e);
      d[e] = s[4 * g + e] * ((keep ? products[4 * g + e] : 0.0f) - (e & 1 ? delta.y : delta.x));
    }
    p[2 * (g & 1)] = pack(d[0], d[1]), p[2 * (g & 1) + 1] = pack(d[2], d[3]);
    const int piece = (g & ~1) + (lane >> 4);
    if (g & 1)
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                       to + (((piece ^ lane) & 7) << 4)),
                   "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]) : "memory");
  }
}
SM void weigh_tile(float (&s)[32], unsigned (&p)[16], unsigned kept, const BodyArguments& body, const Place& place,
                   bool unmasked) {
  if (!unmasked) weigh<Taken::masked>(s, p, kept, body, place);
  else weigh<kPlainWhenUnmasked ? Taken::plain : Taken::unmasked>(s, p, kept, body, place);
}
