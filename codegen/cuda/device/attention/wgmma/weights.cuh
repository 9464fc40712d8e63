// Softmax weights of a tile of scores in the forward kernel of attention, computed in registers. A consumer
// warp group has the scores of 64 queries (rows) and kKeys keys (columns) in a wgmma accumulator fragment.
// A lane has elements of two rows, which are 8 apart. A column group is 8 adjacent columns. For r and c in
// {0, 1}, the lane's element s[4 * g + 2 * r + c] is in row r of the two, in column group g, and in column
// 2 * (lane & 3) + c of this group.
// Requires: tiles.cuh.


// A lane has a word of dropout bits for every 64 columns, so kWords words. A bit is 1 if the weight is
// kept. Bit 2 * g + r is for the element with c = 0 of row r and column group g of these 64 columns. Bit
// 16 + 2 * g + r is for the element with c = 1.
constexpr int kWords = (kKeys + 63) / 64;

// Returns the lane's word of dropout bits for the 64 columns from `column` on (a multiple of 8). `row` is
// the index of the lane's first row among all rows, in the order [batch, head, query]. All lanes of a warp
// call it. The four lanes with the same lane / 4 are a quad: they have the same rows. Each lane draws the
// bits of two of the eight column groups for its whole quad. Two exchanges then give each lane the bits of
// its own elements.
SM unsigned draw_word(const BodyArguments& body, long long row, int column) {
  const int lane = threadIdx.x & 3;
  unsigned word = 0;
#pragma unroll (kConsumers > 1 ? 4 : 1)
  for (int c = 0; c < 4; ++c) {
    unsigned words[4];
    body_draw(body, 0, row + 8 * (c & 1), (column >> 3) + 2 * lane + (c >> 1), words);
#pragma unroll
    for (int i = 0; i < 4; ++i) word |= kept_of(words[i]) >> (15 - 4 * i - c) & 0x10001u << (4 * i + c);
  }
  const unsigned near = __shfl_xor_sync(0xFFFFFFFFu, word, 1);
  word = lane & 1 ? (word & 0xF0F0F0F0) | (near >> 4 & 0x0F0F0F0F) : (word & 0x0F0F0F0F) | (near & 0x0F0F0F0F) << 4;
  const unsigned far = __shfl_xor_sync(0xFFFFFFFFu, word, 2);
  return lane & 2 ? __byte_perm(word, far, 0x3715) : __byte_perm(word, far, 0x6240);
}
// Fills `kept` with the words for kKeys columns, from `column` on (see draw_word). Does nothing if the
// score_mod draws no random numbers.
SM void draw(unsigned (&kept)[kWords], const BodyArguments& body, long long row, int column) {
  if (kDraws == 0) return;
#pragma unroll
  for (int w = 0; w < kWords; ++w) kept[w] = draw_word(body, row, column + 64 * w);
}

// Replaces each product q . k by the modified score, which the score_mod computes from scale * q . k. The
// lane's first row is query t, and its first column is key `key`. `queries` and `keys` are the numbers of
// queries and keys that exist; keys that do not exist get -inf. kUnmasked: all keys of the tile exist, and
// every query of the tile sees all of them.
template <bool kUnmasked>
SM void modify(float (&s)[kKeys / 2], const BodyArguments& body, int b, int h, int t, int queries, int key, int keys,
               float scale) {
#pragma unroll
  for (int g = 0; g < kKeys / 8; ++g)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int at = key + 8 * g + (e & 1), row = min(t + 8 * (e >> 1), queries - 1);
      const float score = modified_of<kUnmasked>(body, b, h, row, kUnmasked ? at : min(at, keys - 1), s[4 * g + e] * scale);
      s[4 * g + e] = kUnmasked || at < keys ? score : -infinity();
    }
}

// Online softmax of the lane's two rows. All lanes of a warp call it. Each score x is replaced by its
// weight 2^(x * coefficient - top[r]), where r is the row. top[r] becomes the largest x * coefficient of
// row r so far, over all lanes of the quad. sum[r] becomes the sum of this lane's weights of row r so far.
// shrink[r] becomes the factor by which the caller must multiply earlier outputs. The weights do not
// include kKeptFactor, the factor of kept weights in dropout.
SM void weigh(float (&s)[kKeys / 2], float coefficient, float (&top)[2], float (&sum)[2], float (&shrink)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float a = s[2 * r], b = s[2 * r + 1];
#pragma unroll
    for (int g = 1; g < kKeys / 8; ++g) a = fmaxf(a, s[4 * g + 2 * r]), b = fmaxf(b, s[4 * g + 2 * r + 1]);
    a = fmaxf(a, b);
    a = fmaxf(a, __shfl_xor_sync(0xFFFFFFFFu, a, 1));
    a = fmaxf(a, __shfl_xor_sync(0xFFFFFFFFu, a, 2));
    const float next = fmaxf(top[r], a * coefficient), base = next == -infinity() ? 0.0f : next;
    shrink[r] = exp2_fast(top[r] - base);
    top[r] = next;
    a = 0.0f, b = 0.0f;
#pragma unroll
    for (int g = 0; g < kKeys / 8; ++g) {
      float &x = s[4 * g + 2 * r], &y = s[4 * g + 2 * r + 1];
      x = exp2_fast(fmaf(x, coefficient, -base)), y = exp2_fast(fmaf(y, coefficient, -base));
      a += x, b += y;
    }
    sum[r] = sum[r] * shrink[r] + (a + b);
  }
}

// Rounds the weights to 16 bits, and sets dropped weights to 0. p[4 * i], ..., p[4 * i + 3] are the lane's
// fragment of the A operand of wgmma for keys 16 * i to 16 * i + 15 of the tile. kHasFactor: weights may be
// dropped.
SM void pack_weights(unsigned (&p)[kKeys / 4], const float (&s)[kKeys / 2], const unsigned (&kept)[kWords]) {
#pragma unroll
  for (int i = 0; i < kKeys / 4; ++i) {
    p[i] = pack(s[2 * i], s[2 * i + 1]);
    if (kHasFactor) p[i] &= fill_halves(kept[i >> 4] << (15 - (i & 15)));
  }
}
