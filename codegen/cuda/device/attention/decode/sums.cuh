// Weights and their sums. Weights are below the largest score so far of a group of lanes, which all sums follow.
// Requires: scores.cuh.


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

SM void move_base(Sums& sums, int row, float base) {
  const float factor = below(sums.base[row], base);
  sums.base[row] = base, sums.weights[row] *= factor;
#pragma unroll
  for (int e = 0; e < kOwn; ++e) sums.of[row][e] *= factor;
}

// Scores become weights, which values are summed with.
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

// Over the groups of lanes of a warp.
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

// A warp's sums as parts of rows in memory.
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

// What some keys make of a row: of its sums that of one column.
struct Whole {
  float base, weights, sum;
};
SM Whole whole_of(const float* part, int column) { return {part[kHead], part[kHead + 1], part[column]}; }
SM void add(Whole& whole, const Whole& more) {
  const float base = fmaxf(whole.base, more.base), factor = below(whole.base, base), other = below(more.base, base);
  whole.weights = fmaf(other, more.weights, factor * whole.weights);
  whole.sum = fmaf(other, more.sum, factor * whole.sum);
  whole.base = base;
}
// What a block's warps have left, in their order.
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
