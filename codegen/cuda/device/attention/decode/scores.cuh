// Scores of a step in decode attention, in which a group of lanes processes kLoads keys (layout.cuh). Each
// lane multiplies its elements of the keys by its elements of the queries. The lanes of the group exchange
// partial sums, until each lane has the complete scores of some pairs of a key and a row, and passes these to
// the score_mod (`body`). Then every lane receives all modified scores of its group.
// Requires: layout.cuh. Comes after keys.cuh.


// Sums each of x[0, kCount) over a group of lanes. Two lanes that are kDistance apart divide the sums: each
// of them adds up one half, and gives the other half away. If only one sum is left, both add it up. The same
// is repeated with half the distance, and so on. At the end of add_lanes<kValues, kLanes / 2>, x[0, kScores)
// are the totals of the sums from index lane_of_key() * kValues / kLanes on.
template <int kCount, int kDistance>
SM void add_lanes(float (&x)[kValues]) {
  if constexpr (kDistance > 0 && kCount > 1) {
    const bool is_upper = threadIdx.x & kDistance;
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      const float given = is_upper ? x[i] : x[i + kCount / 2], kept = is_upper ? x[i + kCount / 2] : x[i];
      x[i] = kept + __shfl_xor_sync(~0u, given, kDistance);
    }
    add_lanes<kCount / 2, kDistance / 2>(x);
  } else if constexpr (kDistance > 0) {
    x[0] += __shfl_xor_sync(~0u, x[0], kDistance);
    add_lanes<1, kDistance / 2>(x);
  }
}

// Returns the modified score of a row and a key. kUnmasked: the row is known to see the key. The score_mod
// takes valid indices only, so others are replaced; the caller discards their scores.
template <bool kUnmasked>
SM float modified_score(const BodyArguments& body, const Rows& rows, int row, int key, float score) {
  float modified, factor;
  row = min(row, rows.count - 1);
  body_forward<kUnmasked>(body, rows.b, head_of(rows, row), query_of(rows, row), min(key, rows.keys - 1),
                          nullptr, score, modified, factor);
  return modified;
}

// Computes the modified scores of a step: scores[i * kRows + row] is that of key first + i * kTogether +
// group_of_lanes(), or -inf from key `end` on and for rows that the block does not have. q, k: the lane's
// elements of queries and keys. seen: the mask state.
SM void score_keys(float (&scores)[kValues], const float (&q)[kRows][kOwn], const Piece (&k)[kLoads][kTurns],
                   const BodyArguments& body, const Rows& rows, int first, int end, int seen) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    float key[kOwn];
    widen(key, k[i]);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      float sum = 0.0f;
#pragma unroll
      for (int e = 0; e < kOwn; ++e) sum = fmaf(q[row][e], key[e], sum);
      scores[i * kRows + row] = sum;
    }
  }
  add_lanes<kValues, kLanes / 2>(scores);
  float own[kScores];
#pragma unroll
  for (int i = 0; i < kScores; ++i) {
    const int value = lane_of_key() * kValues / kLanes + i, row = value % kRows;
    const int key = first + value / kRows * kTogether + group_of_lanes();
    const bool is_there = key < end && row < rows.count;
    const float modified = seen != 2           ? modified_score<false>(body, rows, row, key, scores[i])
                           : kPlainWhenUnmasked ? scores[i]
                                                : modified_score<true>(body, rows, row, key, scores[i]);
    own[i] = is_there ? modified : -infinity();
  }
  const int group = group_of_lanes() * kLanes;
#pragma unroll
  for (int value = 0; value < kValues; ++value)
    scores[value] = __shfl_sync(~0u, own[value % kScores],
                                group + (kValues > kLanes ? value / kScores : value * (kLanes / kValues)));
}
