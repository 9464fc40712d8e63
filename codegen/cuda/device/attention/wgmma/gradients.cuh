// Softmax weights and the gradients of the scores in the backward kernel. The consumers compute them in
// registers. A consumer warp group has the scores of 64 keys (rows of the tile) x 64 queries (columns) in a
// wgmma accumulator fragment. `key` and t are the lane's first key and first query (struct
// Place). Element s[4 * g + e] of a lane is the score of key `key` + 8 * (e / 2) and of query t + 8 * g + e
// % 2. g, from 0 to 7, is called a column group, and e is from 0 to 3.
// kFactor is the factor of the weights that dropout keeps; 1 without dropout.
// Requires: backward_tiles.cuh.


// A query tile is processed in kParts parts of 64 queries. kPartStep is the distance from one part to the
// next in shared memory, in units of 16 bytes as in descriptors.
constexpr int kParts = kQueries / 64, kPartStep = 64 * 128 >> 4;
static_assert(kParts <= 2);

// Returns one bit for each of the lane's 32 elements: 1 if dropout keeps the weight. Element e of column
// group g has bit 4 * (g / 2) + e if g is even, and the bit 16 higher if g is odd. row: index of the first
// of the 64 queries in the order [batch, head, query]. key: the warp's first key. All lanes of a warp call
// it. Each lane draws for two queries and all 16 keys of the warp. The lanes with the same lane & 3 then
// exchange these bits in three steps, so that each lane gets the bits of its own elements.
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
// Sets kept[i] to the bits of part i (draw_word). row: index of the first query of part 0 in the order
// [batch, head, query]. Does nothing if the score_mod draws no random numbers.
SM void draw(unsigned (&kept)[kParts], const BodyArguments& body, long long row, int key) {
  if (kDraws == 0) return;
#pragma unroll
  for (int w = 0; w < kParts; ++w) kept[w] = draw_word(body, row + 64 * w, key);
}
// Returns whether the weight of element e of column group g is kept.
SM bool is_kept(unsigned kept, int g, int e) { return kept >> (4 * (g >> 1) + 16 * (g & 1) + e) & 1; }
// Two numbers, x for one query and y for the next query.
struct Pair {
  float x, y;
};
// Loads a pair from the shared memory address `from`.
SM Pair load_pair(unsigned from) {
  Pair v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(from) : "memory");
  return v;
}

// The position of the lane's elements in one part, and the numbers that their weights are computed from.
struct Place {
  // b: batch row; h: query head; t: the lane's first query; queries: number of queries; key: the lane's
  // first key; keys: number of keys.
  int b, h, t, queries, key, keys;
  // Address in shared memory of a float of query t: L - log2(kFactor), where L is the lse of the query in
  // base 2. If the query sees no key or does not exist, this float is +inf, so that the weights are 0. The
  // delta of the query, divided by kFactor, is kQueries floats after it.
  unsigned rows;
  float scale;  // a score is scale * q . k
};
// The computation of modified scores. plain: the scores are not modified. unmasked: the score_mod ("body")
// is called without its mask. masked: it is called with its mask.
enum class Taken { plain, unmasked, masked };

// Returns the derivative of the modified score with respect to the score. body_backward returns this
// derivative times weight * (product - delta). The arguments here make that factor 1.
SM float slope_of(const BodyArguments& body, int b, int h, int t, int key, float score) {
  const unsigned draws[kOps] = {};
  float mixed, slope, others[kElementGradients + 1];
  body_backward<true>(body, b, h, t, key, draws, score, 1.0f, 0.0f, -1.0f, mixed, slope, others);
  return slope;
}

// Returns the softmax weight of element e of column group g, times kFactor. On entry, `product` is q . k of
// the element. It is replaced by the result times the derivative of the modified score. lse: the number at
// Place::rows for the element's query. Indices of queries and keys that do not exist are replaced by valid
// ones, because the score_mod may read memory with them.
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

// Calls weigh_one for all elements s of a part, also for those whose weights dropout does not keep, because
// `differentiate` needs them. p becomes the weights in 16 bits, with 0 for weights that dropout does not
// keep. p is the operand A, [64 keys x 64 queries], of dV += P^T dO in registers, with 4 words per 16
// queries.
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
// Computes the gradients of the scores of a part, s * (product - delta), where the product counts as 0 if
// dropout does not keep the weight. Stores the gradients in 16 bits to shared memory. There, a row of 128
// bytes has 64 queries of one key, with the 128-byte swizzle of TMA. s: as `weigh` leaves it. products: dO .
// v. to: address of the row of the warp's key number lane & 15. The lane passes addresses in this row to
// stmatrix. A 16-byte piece of a row is one column group. All lanes of a warp call it.
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
// Calls `weigh` for a part. unmasked: no pair of a query and a key is masked, so the mask is not tested.
SM void weigh_tile(float (&s)[32], unsigned (&p)[16], unsigned kept, const BodyArguments& body, const Place& place,
                   bool unmasked) {
  if (!unmasked) weigh<Taken::masked>(s, p, kept, body, place);
  else weigh<kPlainWhenUnmasked ? Taken::plain : Taken::unmasked>(s, p, kept, body, place);
}
