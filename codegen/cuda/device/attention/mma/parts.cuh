// The order of all sums over keys in the forward kernels whose results have the same bits (kPartKeys > 0),
// for tiles of many queries and for few queries alike. The result of a row depends only on its query, on the
// keys that it sees, and on their numbers:
// - Keys are divided into parts at the multiples of kPartKeys, counted from key 0. A part is two tiles of
//   kColumns keys.
// - A product of Q and K is a chain: one accumulator adds blocks of 16 elements of the head, in their order.
// - The softmax of a part is online over its two tiles, in base 2 and without slack: a weight is 2^(score -
//   base), and the base is the largest score of the part so far. Weights are rounded once.
// - A product of weights and V is a chain over the keys of the part, in blocks of 16. The weights themselves
//   are added by lane, in the order of the lane's columns, and at the end of the part over the quad.
// - The parts of a row are merged in ascending order. A part of which the row sees no key changes nothing. A
//   tile of which it sees no key adds zeros. So it does not matter whether these are skipped.
// Requires: scores.cuh, of which kSlack is not used.

static_assert(kPartKeys == 2 * kColumns, "a part is two tiles");

// Returns whether the softmax takes the products of Q and K themselves as scores, so that exponent_factor
// scales them in the exponent. Otherwise it takes the modified scores times log2(e).
SM bool takes_products(float scale) { return kPlainWhenUnmasked && scale > 0.0f; }
SM float exponent_factor(float scale) { return takes_products(scale) ? scale * kLog2e : 1.0f; }

// Returns the score that the softmax takes for a product of Q and K: -inf if the query does not see the key.
// kUnmasked: it sees the key, and both exist.
template <bool kUnmasked>
SM float softmax_score(float product, float scale, const BodyArguments& body, const Head& head, int query,
                       int key, const unsigned* draws) {
  const float score = modified_score<kUnmasked>(__fmul_rn(scale, product), body, head, query, key, draws);
  return takes_products(scale) && score != -infinity() ? product : score;
}

// The bases and the sums of weights of the rows of which the lane holds accumulators. Element [t][half] is
// for row 16 * t + 8 * half + lane_row() of the warp. Within a part, a sum has the weights in the lane's
// columns.
struct Softmax {
  float base[kRowTiles][2], weights[kRowTiles][2];
};
// Begins a part, or the total of all parts: no key is seen yet.
SM void begin(Softmax& softmax, Sums<kPart / 8>& sums) {
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r)
    softmax.base[r / 2][r % 2] = -infinity(), softmax.weights[r / 2][r % 2] = 0.0f;
  clear<kPart / 8>(sums);
}

// Multiplies the sums of row r of the lane by `factor`.
SM void scale_row(Softmax& softmax, Sums<kPart / 8>& sums, int r, float factor) {
  softmax.weights[r / 2][r % 2] = __fmul_rn(softmax.weights[r / 2][r % 2], factor);
#pragma unroll
  for (int n = 0; n < kPart / 8; ++n)
    sums[r / 2][n][r % 2 * 2] *= factor, sums[r / 2][n][r % 2 * 2 + 1] *= factor;
}

// Raises the base of each row to the largest score * factor of the tile, and scales the row's sums to the new
// base. All lanes of a warp call this.
SM void raise_bases(Softmax& softmax, Sums<kPart / 8>& sums, const Scores& scores, float factor) {
  float base[kRowTiles][2];
  bool grows = false;
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    float top = -infinity();
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n)
      top = fmaxf(top, fmaxf(scores[r / 2][n][r % 2 * 2], scores[r / 2][n][r % 2 * 2 + 1]));
    base[r / 2][r % 2] = fmaxf(softmax.base[r / 2][r % 2], __fmul_rn(max_of_quad(top), factor));
    grows |= base[r / 2][r % 2] != softmax.base[r / 2][r % 2];
  }
  if (!__any_sync(~0u, grows)) return;
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    float& old = softmax.base[r / 2][r % 2];
    const float to = base[r / 2][r % 2];
    scale_row(softmax, sums, r, old == to ? 1.0f : exp2_of(old - to));
    old = to;
  }
}

// Replaces each score of a tile by its weight, after raise_bases, and adds the weights to their sums.
SM void replace_by_weights(Scores& scores, Softmax& softmax, float factor) {
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    const float base = softmax.base[r / 2][r % 2], from = base == -infinity() ? 0.0f : base;
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[r / 2][n][r % 2 * 2 + e];
        score = exp2_of(fmaf(score, factor, -from));
        softmax.weights[r / 2][r % 2] += score;
      }
  }
}

// The addition of a part to the total of the parts before it, for one row. base: the base of both together.
// of_total, of_part: factors of their sums. is_seen: the row sees a key of the part; if not, the total stays.
struct Merge {
  float base, of_total, of_part;
  bool is_seen;
};
SM Merge merge_of(float total_base, float part_base) {
  const float base = fmaxf(total_base, part_base);
  if (part_base == -infinity()) return {base, 1.0f, 0.0f, false};
  return {base, exp2_of(total_base - base), exp2_of(part_base - base), true};
}
// Returns the sum of a total and a part.
SM float merged(const Merge& merge, float total, float part) {
  return merge.is_seen ? fmaf(part, merge.of_part, __fmul_rn(total, merge.of_total)) : total;
}

// Return the factor that turns a row's sums into its result, and the logarithm of its sum of exponentials. A
// row that sees no key has the factor 0.
SM float result_factor(float weights) {
  return weights == 0.0f ? 0.0f : (kKeptFactor == 0.0f ? 1.0f : kKeptFactor) / weights;
}
SM float log_sum(float base, float weights) {
  return weights == 0.0f ? -infinity() : __fmul_rn(base + log2_of(weights), 0.6931471805599453f);
}
