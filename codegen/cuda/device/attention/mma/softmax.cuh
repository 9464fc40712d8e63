// The online softmax of the forward kernel, in base 2: a weight is 2^(score - base), and each row has its own
// base. The base of a row is raised, and its sums are scaled, only if the largest score exceeds the base by
// more than kSlack. This is rare. If the kernel also stores the rounding residual of O (kHasRest), kSlack is
// 0.
// Requires: scores.cuh.


// State of the rows of which the lane holds scores. base: the base of the row. sum: the sum of the weights
// in the columns that the lane holds. Element [t][half] is for row 16 * t + 8 * half + lane_row() of the
// warp.
struct Softmax {
  float base[kRowTiles][2], sum[kRowTiles][2];
};

// Raises the base of each row to the largest score * scale of the row, if that exceeds the base by more than
// kSlack. Scales the row's sum of weights, and its sums of weights * V, to the new base. All lanes of a warp
// call this.
SM void move_bases(Softmax& softmax, Sums<kPart / 8>& sums, const Scores& scores, float scale) {
  float base[kRowTiles][2];
  bool grows = false;
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    float top = -infinity();
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n)
      top = fmaxf(top, fmaxf(scores[r / 2][n][r % 2 * 2], scores[r / 2][n][r % 2 * 2 + 1]));
    top = max_of_quad(top) * scale;
    const float old = softmax.base[r / 2][r % 2];
    base[r / 2][r % 2] = top > old + kSlack ? top : old;
    grows |= top > old + kSlack;
  }
  if (!__any_sync(~0u, grows)) return;
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    float& old = softmax.base[r / 2][r % 2];
    const float to = base[r / 2][r % 2], less = old == to ? 1.0f : exp2_of(old - to);
    old = to, softmax.sum[r / 2][r % 2] *= less;
#pragma unroll
    for (int n = 0; n < kPart / 8; ++n)
      sums[r / 2][n][r % 2 * 2] *= less, sums[r / 2][n][r % 2 * 2 + 1] *= less;
  }
}

// Replaces each score by its weight 2^(score * scale - base), and adds the weights to the sums.
SM void exponentiate(Scores& scores, Softmax& softmax, float scale) {
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    const float at = softmax.base[r / 2][r % 2], base = at == -infinity() ? 0.0f : at;
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[r / 2][n][r % 2 * 2 + e];
        score = exp2_of(score * scale - base);
        softmax.sum[r / 2][r % 2] += score;
      }
  }
}
