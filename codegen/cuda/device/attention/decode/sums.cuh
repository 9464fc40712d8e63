// Softmax weights and weighted sums of values in decode attention (online softmax).
// Sums are relative to a base, the largest score so far. Each group of lanes of a warp has separate sums and
// bases for its keys. They are added over the groups of a warp, the warps of a block, and the parts of the
// keys.
// Requires: scores.cuh.


// Sums of a group over its keys so far, per row: the base; the sum of the weights exp(score - base); the sums
// of weight * value, for the elements of the head that the lane holds.
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

// Changes the base of a row, and multiplies the sums of the row accordingly.
SM void move_base(Sums& sums, int row, float base) {
  const float factor = below(sums.base[row], base);
  sums.base[row] = base, sums.weights[row] *= factor;
#pragma unroll
  for (int e = 0; e < kOwn; ++e) sums.of[row][e] *= factor;
}

// Adds kLoads keys of the group. scores (layout: score_keys) are replaced by weights. v: the values.
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

// Adds the sums of all groups of the warp; afterwards each group has the total.
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

// Stores the sums of the warp as a partial result (kRows x kPitch floats, layout.cuh). Requires: add_groups.
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

// The result of some keys for a row and a column of the head: base, sum of weights, sum of weight * value.
struct Whole {
  float base, weights, sum;
};
// Returns a column of a row of a partial result; `part` is the address of the row.
SM Whole whole_of(const float* part, int column) { return {part[kHead], part[kHead + 1], part[column]}; }
SM void add(Whole& whole, const Whole& more) {
  const float base = fmaxf(whole.base, more.base), factor = below(whole.base, base), other = below(more.base, base);
  whole.weights = fmaf(other, more.weights, factor * whole.weights);
  whole.sum = fmaf(other, more.sum, factor * whole.sum);
  whole.base = base;
}
// Returns the total of the block's kWarps partial results, in their order. part: the row in the first.
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
