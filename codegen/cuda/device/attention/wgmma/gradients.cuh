// Softmax weights of a tile of scores in the backward kernel, and the gradients of the scores, in registers
// of the consumers. Scores are transposed here: a consumer warp group has 64 keys (rows) x 64 queries
// (columns) in a wgmma accumulator fragment. `key` and t are the lane's first key and query (struct Place).
// Element s[4 * g + e] of a lane is the score of key `key` + 8 * (e / 2) and query t + 8 * g + e % 2. g is
// called a column group.
// Requires: backward_tiles.cuh.


// A query tile is processed in parts of 64 queries. kPartStep is the distance of two parts in a tile of
// queries, in units of 16 bytes as in descriptors. The gradients of the scores of all parts are operands of
// the same products.
constexpr int kParts = kQueries / 64, kPartStep = 64 * 128 >> 4;
static_assert(kParts <= 2);

// Returns the dropout bits of the lane's 32 elements; 1: the weight is kept. Element e of column group g has
// bit 4 * (g / 2) + e, and 16 is added if g is odd. `row` is the index of the first of the 64 queries among
// all rows (b, h, t); `key` is the warp's first key. All lanes of a warp call it. The eight lanes with the
// same lane & 3 have eight keys. Each draws all 16 keys of the warp for two queries of one column group;
// three exchanges then transpose the bits.
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
// Fills `kept` for all parts, the first of which begins at `row`. Does nothing if the score_mod draws no
// random numbers.
SM void draw(unsigned (&kept)[kParts], const BodyArguments& body, long long row, int key) {
  if (kDraws == 0) return;
#pragma unroll
  for (int w = 0; w < kParts; ++w) kept[w] = draw_word(body, row + 64 * w, key);
}
// Returns whether the weight of element e of column group g is kept.
SM bool is_kept(unsigned kept, int g, int e) { return kept >> (4 * (g >> 1) + 16 * (g & 1) + e) & 1; }
// Numbers of two adjacent queries.
struct Pair {
  float x, y;
};
// Loads a pair from the shared memory address `from`.
SM Pair load_pair(unsigned from) {
  Pair v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(from) : "memory");
  return v;
}

// Position of a lane's elements, and operands of their weights.
struct Place {
  // Batch, query head, the lane's first query, number of queries, the lane's first key, number of keys.
  int b, h, t, queries, key, keys;
  // Address in shared memory of the base-2 log-sum-exp of query t; its delta is kQueries numbers further.
  // log2(kFactor) has been subtracted from the former, and the latter has been divided by kFactor. The former
  // is +inf if the query sees no key or does not exist, so that its weights are 0.
  unsigned rows;
  float scale;
};
// Treatment of a tile's scores: without the score_mod ("body"), by the score_mod without its mask, or by all
// of it.
enum class Taken { plain, unmasked, masked };

// Returns the derivative of the modified score with respect to the score: the gradient of the score that the
// score_mod's derivative returns for weight 1 and product - delta = 1.
SM float slope_of(const BodyArguments& body, int b, int h, int t, int key, float score) {
  const unsigned draws[kOps] = {};
  float mixed, slope, others[kElementGradients + 1];
  body_backward<true>(body, b, h, t, key, draws, score, 1.0f, 0.0f, -1.0f, mixed, slope, others);
  return slope;
}

// Returns the softmax weight, times kFactor, of element e of column group g. Replaces its product q . k by
// this weight times the derivative of the modified score. lse is as in Place::rows. Indices are limited to
// existing queries and keys, because the score_mod may read memory with them.
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

// Calls weigh_one for all elements of a part. p gets the weights in 16 bits, with dropped ones as 0: the A
// operand [64 keys x 64 queries] of dV += P^T dO in registers, 4 words per 16 queries. s keeps dropped
// weights, because the delta of their query still counts in `differentiate`.
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
// Computes the gradients of the scores of a part, s * (products - delta), and stores them in 16 bits to
// shared memory: a row of 128 bytes per key, which has 64 queries, with the 128-byte swizzle of TMA. s is as
// `weigh` leaves it; `products` are dO . v. `to` is the address of the row of the warp's key number lane &
// 15, to which the lane's stmatrix writes. A 16-byte piece is one column group of a key.
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
// Calls `weigh` for the tile's mask state; `unmasked`: no pair is masked.
SM void weigh_tile(float (&s)[32], unsigned (&p)[16], unsigned kept, const BodyArguments& body, const Place& place,
                   bool unmasked) {
  if (!unmasked) weigh<Taken::masked>(s, p, kept, body, place);
  else weigh<kPlainWhenUnmasked ? Taken::plain : Taken::unmasked>(s, p, kept, body, place);
}
