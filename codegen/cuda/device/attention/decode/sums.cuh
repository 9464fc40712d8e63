// Softmax weights and weighted sums of values in decode attention (online softmax).
// A row is a query of one query head, and its base is its largest score so far. The weight of a key for a
// row is exp(score - base). Each group of lanes of a warp (layout.cuh) has separate bases and sums for the
// keys that it processes. At the end, the sums are added over the groups of a warp, then over the warps of a
// block, and then over the parts of the keys (keys.cuh).
// Requires: scores.cuh.


// The sums of a group over its keys so far, for each row of the block. base: the largest score. weights: the
// sum of the weights. of: the sums of weight * value, for the elements of the head that the lane holds.
struct Sums {
  float base[kRows], weights[kRows], of[kRows][kOwn];
};

SM void clear(Sums& sums) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    sums.base[row] = -infinity(), sums.weights[row] = 0.0f;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) sums.of[row][e] = 0.0f;
  }
}

// Raises the base of a row to `base`, and multiplies the row's sums by exp(old base - new base).
SM void move_base(Sums& sums, int row, float base) {
  const float factor = below(sums.base[row], base);
  sums.base[row] = base, sums.weights[row] *= factor;
#pragma unroll
  for (int e = 0; e < kOwn; ++e) sums.of[row][e] *= factor;
}

// Adds the kLoads keys of a step to the sums of the group. scores: the scores [kLoads][kRows] of these keys,
// which are replaced by the weights. v: the values.
SM void add_values(Sums& sums, float (&scores)[kValues], const Piece (&v)[kLoads][kTurns]) {
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    float top = sums.base[row];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) top = fmaxf(top, scores[i * kRows + row]);
    move_base(sums, row, top);
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      sums.weights[row] += scores[i * kRows + row] = below(scores[i * kRows + row], top);
  }
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    float value[kOwn];
    widen(value, v[i]);
#pragma unroll
    for (int row = 0; row < kRows; ++row)
#pragma unroll
      for (int e = 0; e < kOwn; ++e)
        sums.of[row][e] = fmaf(scores[i * kRows + row], value[e], sums.of[row][e]);
  }
}

// Adds the sums of all groups of the warp. Afterwards each group has the total. All lanes of the warp call
// this.
SM void add_groups(Sums& sums) {
#pragma unroll
  for (int distance = kLanes; distance < 32; distance *= 2)
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      move_base(sums, row, fmaxf(sums.base[row], __shfl_xor_sync(~0u, sums.base[row], distance)));
      sums.weights[row] += __shfl_xor_sync(~0u, sums.weights[row], distance);
#pragma unroll
      for (int e = 0; e < kOwn; ++e) sums.of[row][e] += __shfl_xor_sync(~0u, sums.of[row][e], distance);
    }
}

// Stores the total of the warp at `parts`, as a partial result of kRows x kPitch floats (layout.cuh). All
// lanes of the warp call this after add_groups.
SM void leave_sums(float* parts, const Sums& sums) {
  if (group_of_lanes() > 0) return;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    float* const part = parts + row * kPitch;
#pragma unroll
    for (int e = 0; e < kOwn; ++e)
      if (has_piece(e / kVector)) part[(e / kVector * kLanes + lane_of_key()) * kVector + e % kVector] = sums.of[row][e];
    if (lane_of_key() == 0) part[kHead] = sums.base[row], part[kHead + 1] = sums.weights[row];
  }
}

// The result of some keys for one row and one column of the head: the base, the sum of the weights, and the
// sum of weight * value.
struct Whole {
  float base, weights, sum;
};
// Returns one column of a row of a partial result. part: the address of the row.
SM Whole whole_of(const float* part, int column) { return {part[kHead], part[kHead + 1], part[column]}; }
// Adds `more`, the result of other keys, to `whole`.
SM void add(Whole& whole, const Whole& more) {
  const float base = fmaxf(whole.base, more.base), factor = below(whole.base, base), other = below(more.base, base);
  whole.weights = fmaf(other, more.weights, factor * whole.weights);
  whole.sum = fmaf(other, more.sum, factor * whole.sum);
  whole.base = base;
}
// Returns the sum of the partial results of the block's kWarps warps, added in the order of the warps. part:
// the address of the row in the partial result of warp 0.
SM Whole whole_of_warps(const float* part, int column) {
  Whole whole{-infinity(), 0.0f, 0.0f};
#pragma unroll
  for (int i = 0; i < kWarps; ++i) whole.base = fmaxf(whole.base, part[i * (kRows * kPitch) + kHead]);
#pragma unroll
  for (int i = 0; i < kWarps; ++i, part += kRows * kPitch) {
    const float factor = below(part[kHead], whole.base);
    whole.weights = fmaf(factor, part[kHead + 1], whole.weights);
    whole.sum = fmaf(factor, part[column], whole.sum);
  }
  return whole;
}
