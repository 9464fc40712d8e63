// Computes attention scores in decode attention. A row is a query of one query head, and a block has up to
// kRows rows. A warp consists of kTogether groups of kLanes adjacent lanes. In a step, each group processes
// kLoads keys, which differ from those of the other groups. Each lane of a group holds kOwn elements of
// every key and of every query, and multiplies these. The lanes of the group then exchange partial sums,
// until each lane has kScores complete scores. The lane calls the score_mod (the function body_forward) for
// these. Finally, every lane receives all modified scores of its group.
// Requires: lanes.cuh.


// Sums each of the values x[0], ..., x[kCount - 1] over lanes (a reduce-scatter). All lanes of a warp call
// it. Two lanes whose numbers differ by kDistance divide the values: the lower lane adds up the first half,
// and the upper lane adds up the second half. The same is then done with half the values and half the
// distance. If only one value is left, both lanes add it up.
// After add_lanes<kValues, kLanes / 2>, each lane has kScores totals over its group of lanes, in x[0,
// kScores). The first of them is the total of value number lane_of_key() * kValues / kLanes.
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

// Computes the modified scores of a step. All lanes of a warp call it. scores[i * kRows + row] becomes the
// modified score of row number `row` of the block and of key first + i * kTogether + group_of_lanes(). It
// is -inf if this key is not less than `end`, or if the block has no such row. q and k: the lane's elements
// of the queries and of the keys. scales: of keys that are codes. seen: 2 if every row sees all keys of the step, otherwise 1.
SM void score_keys(float (&scores)[kValues], const float (&q)[kRows][kOwn],
                   const Piece<Stored> (&k)[kLoads][kTurns], const float (&scales)[kLoads],
                   const BodyArguments& body, const Rows& rows, int first, int end, int seen) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    float key[kOwn];
    widen(key, k[i], scales[i]);
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
    const float modified = seen != 2            ? modified_score<false>(body, rows, row, key, scores[i])
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
