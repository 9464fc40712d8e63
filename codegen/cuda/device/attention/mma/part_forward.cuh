// The function `attention` of the forward kernel for many queries whose sums have the order of parts.cuh. It
// computes O and lse, the log-sum-exp of each query. A block computes kRows queries of one head, and loops
// over tiles of kColumns keys. A tile of V is copied to shared memory while Q and K are multiplied. The next
// tile of K is copied while the weights and V are multiplied.
// Requires: table_rows.cuh, parts.cuh and rest.cuh.

// Replaces the products of Q and K by the scores that the softmax takes. All lanes of a warp call this.
template <bool kUnmasked>
SM void take_scores(Scores& scores, const BodyArguments& body, const Head& head, const Corner& corner,
                    float scale) {
  if (kUnmasked && takes_products(scale)) return;
  for_elements<kColumnTiles, kDrawsInScore>(
      body, head, corner, [&](const Cell& cell, int e, int query, int key, const unsigned* draws) {
        float& score = at<kColumnTiles>(scores, cell, e);
        score = softmax_score<kUnmasked>(score, scale, body, head, query, key, draws);
      });
}

// Four sums of a lane, as they are stored in shared memory.
struct alignas(16) FourSums {
  float of[4];
};

// The total of the parts so far, for the rows of a warp. The sums of weight * value are in `sums`, or in
// shared memory at `memory` if kTotalsInMemory, because wide heads leave too few registers. There the
// FourSums of a thread are kThreads apart.
struct Totals {
  Softmax softmax;
  Sums<kPart / 8> sums;
  FourSums* memory;
};
SM FourSums& in_memory(const Totals& totals, int t, int n) {
  return totals.memory[(t * (kPart / 8) + n) * kThreads + (int)threadIdx.x];
}
SM void begin(Totals& totals) {
  begin(totals.softmax, totals.sums);
#pragma unroll
  for (int i = 0; i < (kTotalsInMemory ? kRowTiles * kPart / 8 : 0); ++i)
    in_memory(totals, i / (kPart / 8), i % (kPart / 8)) = FourSums{};
}
// Loads the sums from shared memory, if they are there.
SM void finish(Totals& totals) {
#pragma unroll
  for (int i = 0; i < (kTotalsInMemory ? kRowTiles * kPart / 8 : 0); ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      totals.sums[i / (kPart / 8)][i % (kPart / 8)][e] =
          in_memory(totals, i / (kPart / 8), i % (kPart / 8)).of[e];
}

// Adds a part to the total. All lanes of a warp call this.
SM void add_part(Totals& totals, const Softmax& part, const Sums<kPart / 8>& sums) {
  Merge merge[kRowTiles][2];
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    float &base = totals.softmax.base[r / 2][r % 2], &weights = totals.softmax.weights[r / 2][r % 2];
    merge[r / 2][r % 2] = merge_of(base, part.base[r / 2][r % 2]);
    base = merge[r / 2][r % 2].base;
    weights = merged(merge[r / 2][r % 2], weights, sum_of_quad(part.weights[r / 2][r % 2]));
  }
#pragma unroll
  for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
    for (int n = 0; n < kPart / 8; ++n) {
      FourSums four;
      if (kTotalsInMemory) four = in_memory(totals, t, n);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float& total = kTotalsInMemory ? four.of[e] : totals.sums[t][n][e];
        total = merged(merge[t][e / 2], total, sums[t][n][e]);
      }
      if (kTotalsInMemory) in_memory(totals, t, n) = four;
    }
}

// Stores lse of a warp's rows, and sets `factors` to what turns the rows' sums into results. first: the query
// of the lane's first row.
SM void finish_rows(float (&factors)[kRowTiles][2], float* lse, const Softmax& total, const Head& head,
                    int first) {
#pragma unroll
  for (int r = 0; r < 2 * kRowTiles; ++r) {
    const float weights = total.weights[r / 2][r % 2];
    factors[r / 2][r % 2] = result_factor(weights);
    if ((lane() & 3) == 0 && first + 8 * r < head.queries)
      lse[row_of(head, first + 8 * r)] = log_sum(total.base[r / 2][r % 2], weights);
  }
}

// Computes one tile of kRows queries of one head per block. codegen/cuda/attention/attention_mma.h describes
// the arguments. x_b, x_t and x_h are the strides of x along batch, position and head, in elements. Shared
// memory: kRows rows of Q, kColumns rows of K, kColumns rows of V, and if kTotalsInMemory the totals. At the
// end, the results are staged in place of the rows of Q.
SM void attention(const Half* q, const Half* k, const Half* v, Half* o, Half* rest, float* lse,
                  long long batch, long long heads, long long group, long long queries, long long keys,
                  long long q_b, long long q_t, long long q_h, long long k_b, long long k_t, long long k_h,
                  long long v_b, long long v_t, long long v_h, long long o_b, long long o_t, long long o_h,
                  long long rest_b, long long rest_t, long long rest_h, const int* places, long long places_b,
                  long long places_s, float scale, const BodyArguments& body) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int tiles = ((int)queries + kRows - 1) / kRows;
  const Place place = place_of(blockIdx.x, tiles, (int)(batch * heads), keys * 4 * kHead);
  const Head head{place.head / (int)heads, place.head % (int)heads, (int)heads, (int)queries, (int)keys};
  const int row0 = (tiles - 1 - place.tile) * kRows, kv = head.h / (int)group;
  const Matrix qm{q + head.b * q_b + head.h * q_h, q_t};
  const Keys km = keys_of(k, k_b, k_t, k_h, Scales{}, head.b, kv),
             vm = keys_of(v, v_b, v_t, v_h, Scales{}, head.b, kv);
  const TableRows table{places + head.b * places_b, places_s};
  const unsigned qs = shared_address(memory), ks = qs + kRows * kPitch, vs = ks + kColumns * kPitch;
  const unsigned staging = qs + warp_row() * kPitch;

  // Moves to the next tile of keys that some row of the block may see. column0: the first key of the tile; at
  // least head.keys if no tile is left. seen: the mask state of the tile (body_tile).
  int column0 = -kColumns, seen = 0;
  const auto advance = [&] {
    do column0 += kColumns;
    while (column0 < head.keys &&
           (seen = body_tile(body, head.b, head.h, row0, min(row0 + kRows, head.queries), column0,
                             min(column0 + kColumns, head.keys))) == 0);
  };
  copy_rows<kRows>(qs, qm, row0, head.queries);
  advance();
  if (column0 < head.keys) copy_keys(ks, km, table, column0, head.keys);
  commit_copies();

  Softmax part;
  Sums<kPart / 8> sums;
  begin(part, sums);
  Totals totals;
  totals.memory = (FourSums*)(memory + (kRows + 2 * kColumns) * kPitch);
  begin(totals);
  const int first_query = row0 + warp_row() + lane_row();
  const float factor = exponent_factor(scale);
  while (column0 < head.keys) {
    wait_for_copies();
    __syncthreads();  // K has arrived, and all warps have read the previous tile of V
    copy_keys(vs, vm, table, column0, head.keys);
    commit_copies();
    Scores scores;
    multiply_rows<kColumnTiles>(scores, staging + by_rows(), ks + by_columns());

    const Corner corner{first_query, column0 + lane_column()};
    // The score_mod takes valid indices only.
    const bool is_unmasked = seen == 2 && column0 + kColumns <= head.keys &&
                             (takes_products(scale) || row0 + kRows <= head.queries);
    if (is_unmasked)
      take_scores<true>(scores, body, head, corner, scale);
    else
      take_scores<false>(scores, body, head, corner, scale);
    raise_bases(part, sums, scores, factor);
    replace_by_weights(scores, part, factor);
    if (kHasFactor) apply_factors(scores, body, head, corner);

    wait_for_copies();
    __syncthreads();  // V has arrived, and all warps have read K
    const int number = column0 / kPartKeys;
    advance();
    if (column0 < head.keys) copy_keys(ks, km, table, column0, head.keys);
    commit_copies();
    add_weighted<kColumnTiles>(sums, scores, vs + by_rows());
    if (column0 < head.keys && column0 / kPartKeys == number) continue;
    add_part(totals, part, sums);
    begin(part, sums);
  }
  wait_for_copies();
  __syncthreads();  // the copy of Q has ended, even if no tile was visible: results may overwrite Q

  finish(totals);
  float factors[kRowTiles][2];
  finish_rows(factors, lse, totals.softmax, head, first_query);
  store_rows(o + head.b * o_b + head.h * o_h, o_t, totals.sums, factors, staging, row0 + warp_row(),
             head.queries, 0);
  if (!kHasRest) return;
  leave_rest(totals.sums, factors);
  store_rows(rest + head.b * rest_b + head.h * rest_h, rest_t, totals.sums, factors, staging,
             row0 + warp_row(), head.queries, 0);
}
