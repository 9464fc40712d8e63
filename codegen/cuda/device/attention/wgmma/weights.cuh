// Weights of a tile of the forward kernel from its scores.
// Requires: tiles.cuh.


// Which elements are kept: a word for two rows of 64 columns. Bit 2 g + r is of the first, and bit 16 + 2 g + r of the
// second of a lane's columns of group g in its row r, so that a shift takes both to the top of the halves of a packed pair.
constexpr int kWords = (kKeys + 63) / 64;

// A lane draws for two column groups of two rows, eight columns each, and hands the other lanes of its quad their pairs.
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
SM void draw(unsigned (&kept)[kWords], const BodyArguments& body, long long row, int column) {
  if (kDraws == 0) return;
#pragma unroll
  for (int w = 0; w < kWords; ++w) kept[w] = draw_word(body, row, column + 64 * w);
}

// Products become scores as the body wants them.
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

// Online softmax of two rows: scores times the coefficient are base-2 logarithms. The largest weight is 1, which no
// rounding changes: the factor of those that are kept comes last.
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

// Kept weights in the registers of a first operand.
SM void pack_weights(unsigned (&p)[kKeys / 4], const float (&s)[kKeys / 2], const unsigned (&kept)[kWords]) {
#pragma unroll
  for (int i = 0; i < kKeys / 4; ++i) {
    p[i] = pack(s[2 * i], s[2 * i + 1]);
    if (kHasFactor) p[i] &= fill_halves(kept[i >> 4] << (15 - (i & 15)));
  }
}
