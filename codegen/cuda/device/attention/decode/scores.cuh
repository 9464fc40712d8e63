// Scores of a step, in three parts: a lane sums over its elements of each key; the lanes of a key exchange sums, so that each
// lane has the whole scores of some keys and rows, for which it calls the body; then all lanes get all scores.
// Requires: layout.cuh. Comes after keys.cuh.


// Adds x over the lanes of a key, of which each keeps a share: those from lane_of_key() * kCount / kLanes on.
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

template <bool kUnmasked>
SM float modified_score(const BodyArguments& body, const Rows& rows, int row, int key, float score) {
  float modified, factor;
  row = min(row, rows.count - 1);
  body_forward<kUnmasked>(body, rows.b, head_of(rows, row), query_of(rows, row), min(key, rows.keys - 1),
                          nullptr, score, modified, factor);
  return modified;
}

// The modified scores of keys from `first` on: that of a row and the i-th key of a lane is at i * kRows + row.
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
